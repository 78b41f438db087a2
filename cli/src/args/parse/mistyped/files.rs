//! What to type in place of a word that names a file or a folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::render::{shell_word, shell_words};

/// The ends of the names of plans.
const PLANS: [&str; 4] = ["toml", "yaml", "yml", "json"];

/// The files of build tools, and what runs these.
const BUILD_FILES: [(&str, &str); 11] = [
    ("CMakeLists.txt", "cmake -B build && cmake --build build"),
    ("Cargo.toml", "cargo test"),
    ("Dockerfile", "docker build ."),
    ("GNUmakefile", "make"),
    ("Justfile", "just"),
    ("Makefile", "make"),
    ("justfile", "just"),
    ("makefile", "make"),
    ("package.json", "npm test"),
    ("pyproject.toml", "pytest"),
    ("tox.ini", "tox"),
];

/// Returns the command that does something with each file of a list or a glob.
pub(super) fn each(spec: &str) -> Option<String> {
    Some(format!("regatta run --each {} 'What to do with {{{{item}}}}'", shell_word(spec)))
}

/// Returns the glob that a shell has replaced by these files, if they are files.
pub(crate) fn glob_of(files: &[&str]) -> Option<String> {
    let [first, _second, ..] = files else { return None };
    if !files.iter().all(|file| Path::new(file).is_file()) {
        return None;
    }
    let parent = |file: &str| Path::new(file).parent().map(Path::to_owned).unwrap_or_default();
    let end = |file: &str| Path::new(file).extension().map(std::ffi::OsStr::to_owned);
    let mut folder = parent(first);
    while !files.iter().all(|file| parent(file).starts_with(&folder)) {
        folder = folder.parent().map(PathBuf::from).unwrap_or_default();
    }
    let is_deep = files.iter().any(|file| parent(file) != folder);
    let end =
        end(first).filter(|of_first| files.iter().all(|file| end(file).as_ref() == Some(of_first)));
    let name = match (is_deep, end.as_ref().and_then(|end| end.to_str())) {
        (true, Some(end)) => format!("**/*.{end}"),
        (true, None) => "**".to_owned(),
        (false, Some(end)) => format!("*.{end}"),
        (false, None) => "*".to_owned(),
    };
    Some(folder.join(name).to_str()?.to_owned())
}

/// Returns whether a word is typed as a program of the folder: `./build.sh`.
pub(super) fn is_program(word: &str) -> bool {
    let is_here = word.starts_with("./") || word.starts_with("../");
    let is_executable = |found: &std::fs::Metadata| found.permissions().mode() & 0o111 != 0;
    match Path::new(word).metadata() {
        Ok(found) => word.contains('/') && found.is_file() && is_executable(&found),
        Err(_gone) => is_here,
    }
}

/// Returns what does something with a file, if the first word names one: itself, or as `@FILE` a list. A
/// program may have arguments.
pub(super) fn instead_of(words: &[&str]) -> Option<String> {
    let word = *words.first()?;
    let is_glob = word.contains('*') || word.contains('?') && word.contains(['/', '.']);
    let is_list = || word.strip_prefix('@').is_some_and(|file| Path::new(file).is_file());
    if word == "-" || is_list() || is_glob {
        return each(word);
    }
    if is_program(word) {
        let line = shell_words(words);
        return Some(format!("regatta run --exec {}", shell_word(&line)));
    }
    let path = Path::new(word);
    let Ok(found) = path.metadata() else {
        let is_plan = [".toml", ".yaml", ".yml"].iter().any(|end| word.ends_with(end));
        return is_plan.then(|| format!("regatta run --plan {}", shell_word(word)));
    };
    if !found.is_file() {
        return None;
    }
    let (name, end) = (path.file_name()?.to_str()?, path.extension().and_then(|end| end.to_str()));
    let exec = |command: &str| Some(format!("regatta run --exec {}", shell_word(command)));
    if let Some((_, command)) = BUILD_FILES.iter().find(|(file, _)| *file == name) {
        return match path.parent().and_then(Path::to_str).unwrap_or_default() {
            "" | "." => exec(command),
            folder => exec(&format!("cd {} && {command}", shell_word(folder))),
        };
    }
    match end {
        Some(end) if PLANS.contains(&end) => {
            Some(format!("regatta run --plan {}", shell_word(word)))
        }
        _ if end == Some("sh") && found.permissions().mode() & 0o111 == 0 => {
            exec(&format!("sh {}", shell_words(words)))
        }
        _ if found.permissions().mode() & 0o111 == 0 => each(word),
        _ if word.contains('/') => exec(&shell_words(words)),
        _ => exec(&format!("./{}", shell_words(words))),
    }
}

/// Returns what does something with each file of a folder, if `word` names one. A folder that need not be in
/// this repository is one to work in.
pub(super) fn instead_of_folder(word: &str) -> Option<String> {
    let is_elsewhere = word.starts_with('/')
        || word.split('/').all(|part| part.starts_with('.'))
        || word.split('/').any(|part| part == "..");
    if is_elsewhere && Path::new(word).is_dir() {
        return Some(format!("regatta --repo {} (works there)", shell_word(word)));
    }
    let files = format!("{}/**", word.trim_end_matches('/'));
    Path::new(word).is_dir().then(|| {
        format!("regatta run --each {} 'What to do with {{{{item}}}}'", shell_word(&files))
    })
}

/// Returns what a word that ends in `/` is.
pub(super) fn folder_text(word: &str) -> String {
    let is = |path: &str| Path::new(path).is_dir();
    match (is(word), Path::new(word.trim_end_matches('/')).is_file()) {
        (true, _) => "is a folder".to_owned(),
        (false, true) => "is a file, not a folder".to_owned(),
        (false, false) => "is not a folder here".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_plan_a_list_a_program_or_one_of_a_build_tool_if_it_is_there() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let at = folder.path().to_str().expect("it is UTF-8");
        for (file, instead) in [
            ("plan.toml", format!("regatta run --plan {at}/plan.toml")),
            ("plan.yaml", format!("regatta run --plan {at}/plan.yaml")),
            ("plan.yml", format!("regatta run --plan {at}/plan.yml")),
            ("plan.json", format!("regatta run --plan {at}/plan.json")),
            ("Makefile", format!("regatta run --exec 'cd {at} && make'")),
            ("package.json", format!("regatta run --exec 'cd {at} && npm test'")),
            ("a.rs", format!("regatta run --each {at}/a.rs 'What to do with {{{{item}}}}'")),
        ] {
            let path = format!("{at}/{file}");
            let is_plan = instead.contains("--plan") && !file.ends_with(".json");
            let gone = is_plan.then(|| instead.clone());
            assert_eq!(instead_of(&[&path]), gone, "it is not there");
            std::fs::write(&path, "").expect("a file can be written");
            assert_eq!(instead_of(&[&path]), Some(instead));
            let list = instead_of(&[&format!("@{path}")]).expect("it is there");
            assert!(list.starts_with("regatta run --each @"), "{list}");
        }
        let program = format!("{at}/a.rs");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("a mode can be set");
        assert_eq!(instead_of(&[&program]), Some(format!("regatta run --exec {program}")));
        assert_eq!(instead_of(&[at]), None);
        for (word, instead) in [
            (at, format!("regatta --repo {at} (works there)")),
            ("..", "regatta --repo .. (works there)".to_owned()),
            ("src/", "regatta run --each 'src/**' 'What to do with {{item}}'".to_owned()),
        ] {
            assert_eq!(instead_of_folder(word), Some(instead), "{word}");
        }
        assert_eq!(instead_of_folder(&program), None);
        // The tests work in the folder of this crate.
        assert_eq!(instead_of(&["Cargo.toml"]).as_deref(), Some("regatta run --exec 'cargo test'"));
    }
}
