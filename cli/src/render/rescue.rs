//! Where a version of a file is kept that a landing replaced, in words.

use protocol::{Rescue, RescueLocation};

use super::safe::one_line;
use super::typing::shell_word;

/// Returns what is kept and how it is had, as one line that is safe to print.
#[must_use]
pub fn rescue_line(rescue: &Rescue) -> String {
    let what = format!(
        "a version of {} that was replaced during the landing of run {} is kept",
        rescue.path, rescue.run
    );
    one_line(&match &rescue.kept {
        RescueLocation::Store { git_dir, object } => {
            let (git_dir, object) = (shell_word(git_dir), shell_word(object));
            format!("{what}: git --git-dir {git_dir} show {object} > FILE")
        }
        RescueLocation::Tree { file } => {
            format!("{what} as {file}, because a program still has it open for writing")
        }
    })
}

#[cfg(test)]
mod tests {
    use protocol::RepoPath;

    use super::*;

    #[test]
    fn a_rescue_says_how_the_bytes_are_had() {
        let mut rescue = Rescue {
            path: RepoPath::new("src/x.rs").unwrap(),
            run: "r7k3f".parse().unwrap(),
            kept: RescueLocation::Store {
                git_dir: "/data/it's.git".to_owned(),
                object: "refs/rescued/12ab:bytes".to_owned(),
            },
        };
        assert_eq!(
            rescue_line(&rescue),
            r"a version of src/x.rs that was replaced during the landing of run r7k3f is kept: git --git-dir '/data/it'\''s.git' show refs/rescued/12ab:bytes > FILE"
        );
        rescue.kept = RescueLocation::Tree { file: RepoPath::new("src/.x.kept-1").unwrap() };
        assert_eq!(
            rescue_line(&rescue),
            "a version of src/x.rs that was replaced during the landing of run r7k3f is kept as src/.x.kept-1, because a program still has it open for writing"
        );
    }
}
