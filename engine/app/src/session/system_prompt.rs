//! The system prompts of sessions, and the context files in them.

use std::fs;
use std::path::{Path, PathBuf};

use config::{DataPaths, read_context_file};
use engine::ports::WorkspaceView;
use engine::prompt::{
    CONTEXT_FILE_LIMIT, ContextBytes, ContextFiles, Environment, Role, SystemPrompt,
    context_file_paths,
};
use isolation::{DirectoryView, git_state_at};
use protocol::Timestamp;

use super::prompt_files::foreign_note;

/// What the user says for the system prompt of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptParts {
    /// What the session is, or the whole text of the user's own.
    pub role: Role,
    /// The text that comes after the role.
    pub appended: Option<String>,
    /// Whether the context files, such as `AGENTS.md`, are read.
    pub has_context_files: bool,
    /// The repository of which the folder is a copy, if it is one.
    pub copy_of: Option<PathBuf>,
}

/// Returns the system prompt of a session in `folder`, and what the user should know about the context
/// files. Files of the repository are read, and nothing in it is executed.
pub async fn session_prompt(
    parts: PromptParts,
    folder: &Path,
    places: &DataPaths,
    at: Timestamp,
) -> (SystemPrompt, Vec<String>) {
    let PromptParts { role, appended, has_context_files, copy_of } = parts;
    let canonical = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let repository = git_state_at(&canonical);
    let root = repository.as_ref().map_or(canonical.as_path(), |(root, _)| root.as_path());
    let mut files = ContextFiles::default();
    if has_context_files {
        if let Some(user) = user_instructions(places) {
            files.add(user);
        }
        let subfolder = canonical.strip_prefix(root).unwrap_or(Path::new(""));
        read_files(&mut files, root, subfolder).await;
    }
    let environment = Environment {
        folder: Some(canonical.display().to_string()),
        copy_of: copy_of.map(|repository| repository.display().to_string()),
        git: repository.map(|(_, git)| git),
        ..Environment::at(at)
    };
    let prompt =
        SystemPrompt { files: files.files, appended, ..SystemPrompt::of(role, environment) };
    let cut = files.cut.iter().map(|path| {
        format!("warning: the model reads only a part of {path}: context files have 64 KB in all")
    });
    let foreign = files.foreign.iter().filter_map(|(path, bytes)| foreign_note(path, Some(*bytes)));
    (prompt, cut.chain(foreign).collect())
}

/// Returns the names of the context files that a session has read; `None` if there is none.
pub fn context_files(system: &SystemPrompt) -> Option<String> {
    let names: Vec<_> = system.files.iter().map(|file| file.path.as_str()).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// Returns what the user tells every agent, if anything.
pub fn user_instructions(places: &DataPaths) -> Option<ContextBytes> {
    let path = places.context_file();
    match read_context_file(&path, CONTEXT_FILE_LIMIT as u64) {
        Ok(bytes) => bytes.map(|bytes| ContextBytes { path: path.display().to_string(), bytes }),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "a context file cannot be read");
            None
        }
    }
}

/// Adds the context files from `root` to `subfolder`. A symlink that leads out of the root is not
/// followed.
async fn read_files(files: &mut ContextFiles, root: &Path, subfolder: &Path) {
    let view = DirectoryView::new(root.to_owned());
    for paths in context_file_paths(subfolder) {
        for path in paths {
            if let Some(bytes) = read_file(&view, &path).await {
                files.add(ContextBytes { path: path.to_string_lossy().into_owned(), bytes });
                break;
            }
        }
    }
}

/// Returns the beginning of a file; `None` if there is none, or if it cannot be read.
async fn read_file(view: &DirectoryView, path: &Path) -> Option<Vec<u8>> {
    let Ok(engine::ports::Found::File { path, .. }) = view.find(path).await else { return None };
    let mut file = view.open(&path).await.ok()?;
    let mut bytes = Vec::new();
    while bytes.len() <= CONTEXT_FILE_LIMIT {
        match file.read(CONTEXT_FILE_LIMIT).await {
            Ok(more) if more.is_empty() => break,
            Ok(more) => bytes.extend(more),
            Err(error) => {
                tracing::warn!(path = %path.as_path().display(), %error, "a context file cannot be read");
                return None;
            }
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn places(home: &Path) -> DataPaths {
        let home = home.as_os_str().to_owned();
        DataPaths::resolve(|name| (name == "REGATTA_HOME").then(|| home.clone())).unwrap()
    }

    fn texts(prompt: &SystemPrompt) -> Vec<&str> {
        prompt.files.iter().map(|file| file.text.as_str()).collect()
    }

    #[test]
    async fn a_session_reads_the_users_file_and_those_from_the_root_of_the_repository_to_its_folder()
     {
        let (home, work) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (home, root) = (home.path(), work.path().join("app"));
        let folder = root.join("a/b");
        fs::create_dir_all(&folder).unwrap();
        let places = places(home);
        fs::create_dir_all(places.context_file().parent().unwrap()).unwrap();
        fs::write(places.context_file(), "of the user").unwrap();
        fs::write(work.path().join("AGENTS.md"), "outside").unwrap();
        fs::write(root.join("CLAUDE.md"), "root").unwrap();
        symlink("CLAUDE.md", root.join("AGENTS.md")).unwrap();
        symlink("../../AGENTS.md", root.join("a/AGENTS.md")).unwrap();
        symlink("/etc/passwd", root.join("a/b/AGENTS.md")).unwrap();
        let at = Timestamp::from_millisecond(0);
        let parts = |has_context_files| PromptParts {
            role: Role::Assistant,
            appended: None,
            has_context_files,
            copy_of: None,
        };
        // Without a repository, only the folder itself is looked at.
        let (prompt, _) = session_prompt(parts(true), &folder, &places, at).await;
        assert_eq!((texts(&prompt), &prompt.environment.git), (vec!["of the user"], &None));
        fs::create_dir_all(root.join(".git/refs")).unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/trunk\n").unwrap();
        let (prompt, notes) = session_prompt(parts(true), &folder, &places, at).await;
        assert_eq!((texts(&prompt), notes), (vec!["of the user", "root"], Vec::new()));
        let user = places.context_file();
        assert_eq!(context_files(&prompt), Some(format!("{}, AGENTS.md", user.display())));
        fs::write(places.context_file(), b"\xef\xbb\xbfof the us\xe9r").unwrap();
        let (prompt, notes) = session_prompt(parts(true), &folder, &places, at).await;
        assert_eq!((texts(&prompt), notes.len()), (vec!["of the usér", "root"], 1));
        assert!(notes[0].ends_with("1 byte read as windows-1252"), "{notes:?}");
        let git = prompt.environment.git.unwrap();
        assert_eq!((git.branch.as_deref(), git.commit), (Some("trunk"), None));
        let (prompt, _) = session_prompt(parts(false), &folder, &places, at).await;
        assert_eq!((texts(&prompt), context_files(&prompt)), (Vec::<&str>::new(), None));
    }
}
