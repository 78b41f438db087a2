//! Which files of a repository the program of an MCP server runs.

use std::path::Path;

use config::mcp::ServerAddress;

use super::bound_files::{BoundFiles, files_of_commands, files_of_values};
use crate::text::{shell_word, shell_words};

/// References to the root of the project.
const ROOT: [&str; 4] =
    ["${workspaceFolder}", "${workspaceRoot}", "${CLAUDE_PROJECT_DIR}", "${GEMINI_PROJECT_DIR}"];

/// The beginnings of names of variables that decide what a program runs.
const DECIDING: [&str; 14] = [
    "BASH_ENV",
    "BUN_",
    "DENO_",
    "DYLD_",
    "ENV",
    "GIT_",
    "JAVA_TOOL_OPTIONS",
    "LD_",
    "NODE_",
    "PATH",
    "PERL5",
    "PYTHON",
    "RUBY",
    "npm_",
];

/// Returns the files of the repository at `root` that the program of a server runs. A server at a URL runs none.
pub(super) fn files_of_server(root: &Path, address: &ServerAddress) -> BoundFiles {
    let ServerAddress::Program { command, arguments, environment, folder } = address else {
        return BoundFiles::default();
    };
    let inside = |text: &str| inside_root(root, text);
    let words: Vec<_> = std::iter::once(command).chain(arguments).map(|it| inside(it)).collect();
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let folder = folder.as_deref().map(inside);
    let line = match &folder {
        Some(folder) => format!("cd {} && {}", shell_word(folder), shell_words(&words)),
        None => shell_words(&words),
    };
    let mut found = files_of_commands(root, std::iter::once(line.as_str()));
    // What a reference leads to is not known before the server starts.
    found.is_open |= words.iter().copied().chain(folder.as_deref()).any(|it| it.contains("${"));
    let values: Vec<_> = environment.values().map(|value| inside(value.expose())).collect();
    let named = files_of_values(root, values.iter().map(String::as_str));
    found.digests.extend(named.digests);
    found.is_open |= named.is_open
        || values.iter().any(|value| names_folder(root, value))
        || environment.keys().any(|name| DECIDING.iter().any(|it| name.starts_with(it)));
    found
}

/// Returns a text with paths from the root in the place of absolute paths below it.
fn inside_root(root: &Path, text: &str) -> String {
    let root = root.to_string_lossy();
    let mut text = text.to_owned();
    for folder in ROOT.into_iter().chain([&*root]) {
        text = text.replace(&format!("{folder}/"), "").replace(folder, ".");
    }
    text
}

/// Returns whether a value is a list of paths with a folder of the repository among them.
fn names_folder(root: &Path, value: &str) -> bool {
    let is_folder =
        |part: &str| !part.is_empty() && !part.starts_with('/') && root.join(part).is_dir();
    value.split([':', ',', ';']).any(is_folder)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use config::Secret;

    use super::*;

    /// Returns the bound files of a server, `*` among them if it may run others.
    fn bound(
        root: &Path,
        words: &[&str],
        variable: (&str, &str),
        folder: Option<&str>,
    ) -> Vec<String> {
        let mut words = words.iter().map(|word| (*word).to_owned());
        let (name, value) = variable;
        let address = ServerAddress::Program {
            command: words.next().unwrap(),
            arguments: words.collect(),
            environment: BTreeMap::from([(name.to_owned(), Secret::new(value))]),
            folder: folder.map(str::to_owned),
        };
        let found = files_of_server(root, &address);
        let open = found.is_open.then(|| "*".to_owned());
        open.into_iter().chain(found.digests.into_keys()).collect()
    }

    #[test]
    fn a_server_is_bound_to_what_it_runs_and_what_its_runner_and_its_variables_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("tools/lib")).unwrap();
        for path in ["serve.sh", "tools/serve.sh", "package.json", "settings.toml", "tools/x.txt"] {
            fs::write(root.join(path), "echo hi\n").unwrap();
        }
        let absolute = root.join("serve.sh").display().to_string();
        let plain = ("TOKEN", "${TOKEN}");
        for (words, variable, folder, expected) in [
            (&["npx", "-y", "server"][..], plain, None, &["package.json"][..]),
            (&["sh", "serve.sh"], plain, None, &["serve.sh"]),
            (&["sh", "${workspaceFolder}/serve.sh"], plain, None, &["serve.sh"]),
            (&["sh", &absolute], plain, None, &["serve.sh"]),
            (&["sh", "serve.sh"], plain, Some("tools"), &["serve.sh", "tools/serve.sh"]),
            (&["sh", "-c", "cd tools; sh serve.sh"], plain, None, &["serve.sh", "tools/serve.sh"]),
            (&["sh", "${PWD}/serve.sh"], plain, None, &["*"]),
            (&["node", "tools/x.txt"], plain, None, &["*", "tools/x.txt"]),
            (&["true"], ("CONFIG", "settings.toml"), None, &["settings.toml"]),
            (&["true"], ("LIBRARY", "tools/lib"), None, &["*"]),
            (&["true"], ("NODE_OPTIONS", "x"), None, &["*"]),
            (&["true"], plain, None, &[]),
        ] {
            assert_eq!(bound(&root, words, variable, folder), expected, "{words:?} {variable:?}");
        }
        let url = ServerAddress::Url {
            kind: config::mcp::UrlKind::Http,
            url: "https://x".into(),
            headers: BTreeMap::new(),
        };
        assert_eq!(files_of_server(&root, &url), BoundFiles::default());
    }
}
