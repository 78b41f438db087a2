//! What the user should know, before work begins, about calls of tools that will be asked about or refused.

use actors::Answerer;
use protocol::{ApprovalMode, IsolationMode, RunSpec, Work, WorkspaceKind};
use tools::Builtins;

use crate::args::LaunchArgs;

const YOLO: &str = "--approval-mode yolo runs what no rule denies";

/// Returns the line of a session that cannot ask questions.
pub(super) fn of_session(args: &LaunchArgs, mode: ApprovalMode) -> Option<String> {
    let tools = args.allowed_tools();
    let is_asked = tools.is_none_or(|names| names.iter().any(|name| !Builtins::only_reads(name)));
    refused(mode).filter(|_| is_asked)
}

/// Returns the line of a run, or that of a run in place for which no mode was set.
pub(super) fn of_run(spec: &RunSpec, answerer: Answerer) -> Option<String> {
    let workspace = spec.isolation.capabilities().workspace;
    let approvals = spec.tasks.iter().filter_map(|task| match &task.work {
        Work::Agent(agent) => Some(&agent.approvals),
        Work::Command(_) | Work::Conversation(_) => None,
    });
    let strictest = approvals.max_by_key(|approvals| approvals.mode_in(workspace))?;
    let mode = strictest.mode_in(workspace);
    match (answerer, strictest.mode, workspace) {
        (Answerer::None, _, _) => refused(mode),
        (_, None, WorkspaceKind::Shared) => Some(format!(
            "note: isolation is {}: {} are asked about ({YOLO})",
            IsolationMode::None.name(),
            asked_about(mode)?
        )),
        (_, Some(_), _) | (_, None, WorkspaceKind::Private) => None,
    }
}

fn refused(mode: ApprovalMode) -> Option<String> {
    let calls = asked_about(mode)?;
    Some(format!("note: questions cannot be asked here, so {calls} will be refused ({YOLO})"))
}

/// Returns what a mode asks about.
fn asked_about(mode: ApprovalMode) -> Option<&'static str> {
    match mode {
        ApprovalMode::Ask => Some("changes of files and commands"),
        ApprovalMode::Write => Some("commands"),
        ApprovalMode::Yolo => None,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::resolve::sample;

    #[test]
    fn a_session_says_what_is_refused_if_it_has_tools_that_would_be_asked_about() {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            args: LaunchArgs,
        }
        let line = |words: &str, mode| {
            of_session(&Line::parse_from(words.split(' ')).args, mode).unwrap_or_default()
        };
        for (words, mode, said) in [
            ("p", ApprovalMode::Ask, "so changes of files and commands will be refused"),
            ("p", ApprovalMode::Write, "so commands will be refused"),
            ("p --tools read,bash", ApprovalMode::Ask, "will be refused"),
            ("p", ApprovalMode::Yolo, ""),
            ("p --tools read,grep,find,ls,job,todo_write", ApprovalMode::Ask, ""),
            ("p --tools read,notebook", ApprovalMode::Ask, "will be refused"),
            ("p --no-tools", ApprovalMode::Ask, ""),
        ] {
            let found = line(words, mode);
            assert_eq!(found.is_empty(), said.is_empty(), "{words} {mode:?}: {found}");
            assert!(found.contains(said), "{words} {mode:?}: {found}");
        }
    }

    #[test]
    fn a_run_in_place_says_that_its_calls_are_asked_about_and_one_without_answers_what_is_refused()
    {
        let run = |isolation, mode| {
            let mut spec = RunSpec { isolation, ..sample(&[("a", "true"), ("b", "true")]) };
            spec.tasks[1].work = agent(mode);
            spec
        };
        let (copy, place) = (IsolationMode::Worktree, IsolationMode::None);
        let (ask, yolo) = (Some(ApprovalMode::Ask), Some(ApprovalMode::Yolo));
        for (isolation, mode, answerer, said) in [
            (place, None, Answerer::Client, "changes of files and commands are asked about"),
            (place, None, Answerer::None, "questions cannot be asked here"),
            (copy, ask, Answerer::None, "questions cannot be asked here"),
            (place, ask, Answerer::Client, ""),
            (place, yolo, Answerer::None, ""),
            (copy, None, Answerer::None, ""),
            (copy, None, Answerer::Client, ""),
        ] {
            let found = of_run(&run(isolation, mode), answerer).unwrap_or_default();
            let what = format!("{isolation:?} {mode:?} {answerer:?}: {found}");
            assert_eq!(found.is_empty(), said.is_empty(), "{what}");
            assert!(found.contains(said), "{what}");
        }
        assert_eq!(of_run(&sample(&[("a", "true")]), Answerer::None), None);
    }

    fn agent(mode: Option<ApprovalMode>) -> Work {
        Work::from(protocol::Agent {
            model: "offline/a.toml".parse().unwrap(),
            fallback: Vec::new(),
            prompt: "Do it.".to_owned(),
            yields: Vec::new(),
            context: None,
            approvals: protocol::Approvals { mode, ..Default::default() },
            subagent: None,
            servers: Default::default(),
        })
    }
}
