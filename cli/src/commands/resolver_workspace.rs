//! What an agent that resolves conflicts is given: the files with markers and the sides in its
//! workspace, and its prompt.

use std::path::Path;

use engine::run::RunRecord;
use protocol::{Conflict, TaskName};

use super::context::CommandContext;
use super::programs::{AboutTask, about_task};
use super::side_bytes::{SideBytes, no_sides};
use crate::render::{one_line, shell_word};
use regatta::error::Error;

/// How much of the prompt of each task concerned is in the prompt of the agent, in characters.
const LONGEST_PROMPT: usize = 20_000;

/// A conflict and its sides, and the name of the folder in the workspace in which these are.
pub(super) struct Case<'a> {
    pub(super) conflict: &'a Conflict,
    pub(super) path: &'a str,
    pub(super) sides: SideBytes,
    folder: String,
}

/// How the folder in the workspace begins in which the sides are.
pub(super) const FOLDER: &str = ".regatta-sides-";

/// Reads the sides of each conflict.
pub(super) fn cases<'a>(
    context: &CommandContext,
    (record, task): (&RunRecord, &TaskName),
    conflicts: &[&'a Conflict],
) -> Result<Vec<Case<'a>>, Error> {
    let each = conflicts.iter().enumerate().map(|(number, conflict)| {
        let failed = |why: &str| {
            let path = one_line(&conflict.path.to_string());
            Err(Error::usage(format!("the resolver did not settle {path}")).because(why))
        };
        let Some(sides) = SideBytes::read(context, conflict)? else {
            return failed(no_sides(conflict));
        };
        let Some(path) = conflict.path.as_path().to_str() else {
            return failed("its name is not UTF-8; choose --ours, --theirs or --markers");
        };
        let folder = format!("{FOLDER}{}-{task}/{}", record.name, number + 1);
        Ok(Case { conflict, path, sides, folder })
    });
    each.collect()
}

/// Writes the files of all conflicts to `folder`, and returns the command that copies them into a
/// workspace, whatever the folder in which it runs.
pub(super) fn lay_out(folder: &Path, cases: &[Case<'_>]) -> std::io::Result<String> {
    let mut script = String::from("set -e\ncd -- \"$REGATTA_WORKSPACE\"\n");
    for (number, Case { path, sides, folder: place, .. }) in cases.iter().enumerate() {
        let [base, ours, theirs] = sides.texts();
        let contents = [("BASE", base), ("OURS", ours), ("THEIRS", theirs)];
        script.push_str(&format!("mkdir -p -- {}\n", shell_word(place)));
        for (name, bytes) in contents.into_iter().chain([("MARKED", &sides.marked[..])]) {
            let file = folder.join(format!("{number}.{name}"));
            std::fs::write(&file, bytes)?;
            let from = shell_word(&file.to_string_lossy());
            let to = match name {
                "MARKED" => format!("./{path}"),
                _ => format!("{place}/{name}"),
            };
            if let (Some(parent), "MARKED") = (Path::new(&to).parent(), name) {
                script
                    .push_str(&format!("mkdir -p -- {}\n", shell_word(&parent.to_string_lossy())));
            }
            script.push_str(&format!("cat -- {from} > {}\n", shell_word(&to)));
        }
    }
    let file = folder.join("lay-out.sh");
    std::fs::write(&file, script)?;
    Ok(format!("sh {}", shell_word(&file.to_string_lossy())))
}

/// Returns the path from a folder of a workspace to its root; empty for the root itself.
fn up_from(working_folder: &Path) -> String {
    "../".repeat(working_folder.components().count())
}

/// Returns a path as the agent sees it from the folder of the workspace in which it works.
fn seen_from(working_folder: &Path, path: &str) -> String {
    match Path::new(path).strip_prefix(working_folder) {
        Ok(below) => below.to_string_lossy().into_owned(),
        Err(_elsewhere) => up_from(working_folder) + path,
    }
}

/// Returns what the agent is asked to do.
pub(super) fn prompt((record, task): (&RunRecord, &TaskName), cases: &[Case<'_>]) -> String {
    let seen = |path: &str| seen_from(&record.spec.subfolder, path);
    let mut text = String::from(
        "Resolve merge conflicts. Two changes of this repository were made independently of each \
         other, and changed the same lines of the files below. Each file has git's conflict markers \
         now: our version stands in the repository, their version is to be merged into it.\n\n\
         Edit each file so that it does what both changes wanted, and remove every marker. Keep the \
         work of both sides: a result in which nothing of one side is left is refused. Change no \
         other file. Then yield.\n",
    );
    for Case { conflict, path, folder, .. } in cases {
        text.push_str(&format!(
            "\nFile {}: the versions before both changes, of ours and of theirs are in {folder}/BASE, \
             {folder}/OURS and {folder}/THEIRS, to be read only.\n",
            one_line(&seen(path)),
            folder = seen(folder),
        ));
        match &conflict.with {
            Some(with) => {
                text.push_str(&format!("Ours is the work of the task {with}.\n"));
            }
            None => text.push_str("Ours is what the user has in the repository.\n"),
        }
    }
    let mut told: Vec<&TaskName> =
        cases.iter().filter_map(|case| case.conflict.with.as_ref()).collect();
    told.sort();
    told.dedup();
    for (whose, name) in told.into_iter().map(|with| ("ours", with)).chain([("theirs", task)]) {
        let Some(AboutTask { task, title, prompt }) = about_task(record, name) else { continue };
        let cut: String = prompt.chars().take(LONGEST_PROMPT).collect();
        text.push_str(&format!(
            "\nWhat the task {task} ({whose}) was asked to do, as a quotation: {}\n<task>\n{cut}\n</task>\n",
            one_line(title)
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fake_repository::conflict_at;
    use super::*;
    use crate::resolve::sample;

    #[test]
    fn an_agent_that_works_in_a_subfolder_gets_paths_from_there_and_its_files_at_the_root() {
        let conflict = conflict_at("lib/a.txt");
        let case = |path: &'static str| {
            let (base, hunks) = (None, Vec::new());
            let [ours, theirs, marked] = [b"o", b"t", b"m"].map(|side| side.to_vec());
            let sides = SideBytes { base, ours, theirs, marked, hunks };
            Case { conflict: &conflict, path, sides, folder: format!("{FOLDER}raaaa-own/1") }
        };
        let cases = [case("lib/a.txt"), case("web/app/src/b.txt")];
        let own: TaskName = "own".parse().unwrap();
        for (subfolder, up, inside) in
            [("", "", "web/app/src/b.txt"), ("web/app", "../../", "src/b.txt")]
        {
            let mut spec = sample(&[("own", "true")]);
            spec.subfolder = subfolder.into();
            let record = RunRecord::opened("raaaa".parse().unwrap(), spec);
            let text = prompt((&record, &own), &cases);
            assert!(text.contains(&format!("File {up}lib/a.txt: ")), "{text}");
            assert!(text.contains(&format!("File {inside}: ")), "{text}");
            assert!(
                text.contains(&format!(" {up}{FOLDER}raaaa-own/1/BASE, {up}{FOLDER}")),
                "{text}"
            );
            let folder = tempfile::tempdir().unwrap();
            lay_out(folder.path(), &cases).unwrap();
            let script = std::fs::read_to_string(folder.path().join("lay-out.sh")).unwrap();
            assert!(script.starts_with("set -e\ncd -- \"$REGATTA_WORKSPACE\"\n"), "{script}");
            assert!(script.contains(" > ./lib/a.txt\n"), "{script}");
        }
    }
}
