//! What to type in place of a word that names a file or a folder.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::render::shell_word;

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

/// Returns what does something with a file, if `word` names one: itself, or as `@FILE` a list.
pub(super) fn instead_of(word: &str) -> Option<String> {
    let each = |spec: &str| {
        Some(format!("regatta run --each {} 'What to do with {{{{item}}}}'", shell_word(spec)))
    };
    if word == "-" || word.strip_prefix('@').is_some_and(|file| Path::new(file).is_file()) {
        return each(word);
    }
    let path = Path::new(word);
    let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
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
        _ if found.permissions().mode() & 0o111 == 0 => each(word),
        _ if word.contains('/') => exec(&shell_word(word)),
        _ => exec(&format!("./{}", shell_word(word))),
    }
}

/// Returns what does something with each file of a folder, if `word` names one.
pub(super) fn instead_of_folder(word: &str) -> Option<String> {
    let files = format!("{}/**", word.trim_end_matches('/'));
    Path::new(word).is_dir().then(|| {
        format!("regatta run --each {} 'What to do with {{{{item}}}}'", shell_word(&files))
    })
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
            assert_eq!(instead_of(&path), None, "it is not there");
            std::fs::write(&path, "").expect("a file can be written");
            assert_eq!(instead_of(&path), Some(instead));
            let list = instead_of(&format!("@{path}")).expect("it is there");
            assert!(list.starts_with("regatta run --each @"), "{list}");
        }
        let program = format!("{at}/a.rs");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("a mode can be set");
        assert_eq!(instead_of(&program), Some(format!("regatta run --exec {program}")));
        assert_eq!(instead_of(at), None);
        let each = instead_of_folder(at).expect("it is there");
        assert!(each.starts_with(&format!("regatta run --each '{at}/**' ")), "{each}");
        assert_eq!(instead_of_folder(&program), None);
        // The tests work in the folder of this crate.
        assert_eq!(instead_of("Cargo.toml").as_deref(), Some("regatta run --exec 'cargo test'"));
    }
}
