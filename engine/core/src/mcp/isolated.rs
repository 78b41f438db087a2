//! The servers of isolated tasks, which never use a process that was started in the user's checkout.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ports::{McpDefinition, McpScope, McpTransport};

/// How other programs write the folder of the repository.
const WORKSPACE_FOLDER: &[u8] = b"${workspaceFolder}";

/// Variables of the user, in which a path of the repository does not mean that the server is about it.
const USER_VARIABLES: [&str; 6] = ["HOME", "PATH", "SHELL", "TMPDIR", "USER", "PWD"];

/// Where the session of a server works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPlace<'a> {
    /// In the user's own tree.
    Tree,
    /// In a copy of it.
    Copy {
        /// The root of the user's tree.
        repo: &'a Path,
        /// The root of the copy.
        workspace: &'a Path,
    },
}

/// A server for a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedServer {
    /// What is started or reached.
    pub definition: Arc<McpDefinition>,
    /// Who has it.
    pub owner: ServerOwner,
}

/// Who has a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOwner {
    /// All sessions and tasks with the same definition.
    Everyone,
    /// One task, with which it ends.
    Task,
}

/// Returns a server for a session that works in `place`. In a copy, a program starts in an empty folder, and all
/// copies share it. One that is about the repository is started for the task, with the path of the copy.
#[must_use]
pub fn placed(definition: &Arc<McpDefinition>, place: ServerPlace<'_>) -> PlacedServer {
    let ServerPlace::Copy { repo, workspace } = place else {
        return PlacedServer { definition: Arc::clone(definition), owner: ServerOwner::Everyone };
    };
    let McpTransport::Stdio { command, arguments, environment, folder } = &definition.transport
    else {
        return PlacedServer { definition: Arc::clone(definition), owner: ServerOwner::Everyone };
    };
    let of_server = |name: &OsStr| !USER_VARIABLES.iter().any(|known| *known == name);
    let is_about = |text: &OsString| replaced(text, repo, workspace).is_some();
    let is_of_task = definition.scope == McpScope::Workspace
        || is_about(command)
        || arguments.iter().any(is_about)
        || environment.iter().any(|(name, value)| of_server(name) && is_about(value))
        || folder.as_ref().is_some_and(|folder| folder.starts_with(repo));
    let (environment, folder, owner) = match is_of_task {
        true => {
            let with = |(name, value): (&OsString, &OsString)| {
                let moved = replaced(value, repo, workspace).filter(|_| of_server(name));
                (name.clone(), moved.unwrap_or_else(|| value.clone()))
            };
            let folder = folder.as_ref().map(|folder| moved(folder, repo, workspace));
            let folder = folder.unwrap_or_else(|| workspace.to_owned());
            (environment.iter().map(with).collect(), Some(folder), ServerOwner::Task)
        }
        false => (environment.clone(), None, ServerOwner::Everyone),
    };
    let with = |text: &OsString| replaced(text, repo, workspace).unwrap_or_else(|| text.clone());
    let transport = McpTransport::Stdio {
        command: with(command),
        arguments: arguments.iter().map(with).collect(),
        environment,
        folder,
    };
    let key = match owner {
        ServerOwner::Task => format!("{}@{}", definition.key, workspace.display()),
        ServerOwner::Everyone => format!("{}#copies", definition.key),
    };
    let definition = McpDefinition { transport, key, ..McpDefinition::clone(definition) };
    PlacedServer { definition: Arc::new(definition), owner }
}

/// Returns a folder of the repository as the same folder of the copy.
fn moved(folder: &Path, repo: &Path, workspace: &Path) -> PathBuf {
    match folder.strip_prefix(repo) {
        Ok(below) if below.as_os_str().is_empty() => workspace.to_owned(),
        Ok(below) => workspace.join(below),
        Err(_) => folder.to_owned(),
    }
}

/// Returns a text with the path of the copy in place of each path of the repository; `None` if there is none in it.
fn replaced(text: &OsStr, repo: &Path, workspace: &Path) -> Option<OsString> {
    let (bytes, workspace) = (text.as_bytes(), workspace.as_os_str().as_bytes());
    if bytes == b"." {
        return Some(OsString::from_vec(workspace.to_vec()));
    }
    if let Some(below) = bytes.strip_prefix(b"./") {
        return Some(OsString::from_vec([workspace, b"/", below].concat()));
    }
    let repo = repo.as_os_str().as_bytes();
    let (mut with, mut at, mut is_found) = (Vec::new(), 0, false);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = if rest.starts_with(WORKSPACE_FOLDER) {
            WORKSPACE_FOLDER.len()
        } else if is_path_at(bytes, at, repo) {
            repo.len()
        } else {
            with.push(bytes[at]);
            at += 1;
            continue;
        };
        with.extend_from_slice(workspace);
        (at, is_found) = (at + length, true);
    }
    is_found.then(|| OsString::from_vec(with))
}

/// Returns whether `path` is in a text at this position, and neither goes on as another name nor is the end of a
/// longer path.
fn is_path_at(text: &[u8], at: usize, path: &[u8]) -> bool {
    let is_name = |byte: Option<&u8>| {
        byte.is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || b"_-./".contains(byte) || *byte > 127
        })
    };
    let goes_on = |byte: Option<&u8>| byte != Some(&b'/') && is_name(byte);
    path.len() > 1
        && text[at..].starts_with(path)
        && !goes_on(text.get(at + path.len()))
        && !(at > 0 && is_name(text.get(at - 1)) && !text[..at].ends_with(b"file://"))
}

#[cfg(test)]
mod tests {
    use super::super::test_definition::test_definition;
    use super::*;

    fn server(arguments: &[&str], folder: Option<&str>) -> Arc<McpDefinition> {
        let transport = McpTransport::Stdio {
            command: "server".into(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: [("HOME".into(), "/repo".into())].into(),
            folder: folder.map(Into::into),
        };
        Arc::new(McpDefinition { transport, ..test_definition("a") })
    }

    fn in_copy(definition: &Arc<McpDefinition>) -> PlacedServer {
        let (repo, workspace) = (Path::new("/repo"), Path::new("/copies/t1"));
        placed(definition, ServerPlace::Copy { repo, workspace })
    }

    #[test]
    fn a_server_about_the_repository_is_started_for_the_task_with_the_path_of_the_copy() {
        for (argument, expected) in [
            (".", "/copies/t1"),
            ("./src", "/copies/t1/src"),
            ("/repo", "/copies/t1"),
            ("/repo/src", "/copies/t1/src"),
            ("--root=/repo", "--root=/copies/t1"),
            ("file:///repo", "file:///copies/t1"),
            ("${workspaceFolder}/x", "/copies/t1/x"),
            ("/a:/repo:/b", "/a:/copies/t1:/b"),
        ] {
            let found = in_copy(&server(&[argument], None));
            let McpTransport::Stdio { arguments, environment, folder, .. } =
                &found.definition.transport
            else {
                panic!("it is a program")
            };
            assert_eq!(arguments, &[expected], "{argument}");
            assert_eq!(found.owner, ServerOwner::Task, "{argument}");
            assert_eq!(folder.as_deref(), Some(Path::new("/copies/t1")));
            assert_eq!(environment[OsStr::new("HOME")], "/repo", "it is the user's");
            assert_eq!(found.definition.key, "key of a@/copies/t1");
        }
    }

    #[test]
    fn another_server_starts_in_an_empty_folder_that_all_copies_share() {
        for argument in ["/repository", "/other/repo", "x/repo", "..", ".hidden", "stdio"] {
            let found = in_copy(&server(&[argument], Some("/elsewhere")));
            assert_eq!(found.owner, ServerOwner::Everyone, "{argument}");
            let McpTransport::Stdio { folder, .. } = &found.definition.transport else {
                panic!("it is a program")
            };
            assert_eq!((folder, &*found.definition.key), (&None, "key of a#copies"));
        }
        let in_tree = server(&["."], None);
        assert_eq!(placed(&in_tree, ServerPlace::Tree).definition, in_tree);
    }

    #[test]
    fn a_server_of_a_folder_or_scope_of_the_task_is_started_for_it() {
        let scoped = McpDefinition { scope: McpScope::Workspace, ..test_definition("a") };
        let scoped = Arc::new(scoped);
        for (definition, folder) in [
            (server(&[], Some("/repo")), "/copies/t1"),
            (server(&[], Some("/repo/tools")), "/copies/t1/tools"),
            (scoped, "/copies/t1"),
        ] {
            let found = in_copy(&definition);
            let McpTransport::Stdio { folder: in_copy, .. } = &found.definition.transport else {
                panic!("it is a program")
            };
            assert_eq!(
                (found.owner, in_copy.as_deref()),
                (ServerOwner::Task, Some(Path::new(folder)))
            );
        }
    }
}
