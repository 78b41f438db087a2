//! What the system prompts of a run's tasks are made of. It is made once, from the snapshot of the
//! run, so that the prompts of all tasks are the same bytes: a provider that caches what they begin
//! with reads it once.

use engine::ports::{Baseline, Notice};
use engine::prompt::{
    ContextBytes, ContextFiles, Environment, GitState, Role, SystemPrompt, context_file_paths,
};
use protocol::{ForeignBytes, RepoPath, RunSpec, Work};

use crate::deps::Deps;

/// Makes the prompt of a run. `notices` names the context files that cannot be read.
pub(super) async fn run_prompt(
    spec: &RunSpec,
    baseline: &dyn Baseline,
    git: GitState,
    deps: &Deps,
    notices: &mut Vec<Notice>,
) -> SystemPrompt {
    let environment = Environment { git: Some(git), ..Environment::at(deps.clock.now()) };
    let mut prompt = SystemPrompt::of(Role::Task, environment);
    let agents = || {
        spec.tasks.iter().filter_map(|task| match &task.work {
            Work::Agent(agent) => Some(agent),
            Work::Command(_) | Work::Conversation(_) => None,
        })
    };
    let Some(first) = agents().next() else { return prompt };
    prompt.context.clone_from(&first.context);
    let mut files = ContextFiles::default();
    if let Some(user) = &deps.policy.user_instructions {
        files.add(user.clone());
    }
    for paths in context_file_paths(&spec.subfolder) {
        for path in paths {
            let Some(at) = RepoPath::new(path.as_os_str().as_encoded_bytes()) else { continue };
            match baseline.read_file(&at).await {
                Ok(None) => continue,
                Ok(Some(bytes)) => files.add(ContextBytes { path: at.to_string(), bytes }),
                Err(error) => notices.push(error_notice(&at, &error)),
            }
            break;
        }
    }
    notices.extend(files.cut.iter().map(|path| Notice {
        from: format!("agents read {path}"),
        to: "they read the beginning of it, or nothing".to_owned(),
        why: "all context files together are longer than 64 KB".to_owned(),
    }));
    notices.extend(files.foreign.iter().map(|(path, foreign)| {
        let (encoding, bytes, instead) = match foreign {
            ForeignBytes::Windows1252(bytes) => ("UTF-8", bytes, "windows-1252"),
            ForeignBytes::BrokenUtf16(bytes) => ("UTF-16", bytes, "U+FFFD"),
        };
        Notice {
            from: format!("agents read {path}"),
            to: format!("{bytes} of its bytes are read as {instead}"),
            why: format!("they are not {encoding}"),
        }
    }));
    prompt.files = files.files;
    prompt
}

fn error_notice(path: &RepoPath, error: &dyn std::error::Error) -> Notice {
    let (from, to) = (format!("agents read {path}"), "they work without it".to_owned());
    Notice { from, to, why: error.to_string() }
}
