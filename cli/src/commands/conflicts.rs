//! `regatta conflicts`: lists what could not land, path by path, and why.

use protocol::{
    Conflict, ConflictReason, ExitCode, MergeMode, RenamedFile, RepoPath, RunName, Side, TaskName,
    error_chain,
};
use serde::Serialize;

use super::context::{CommandContext, Out, print_json, say};
use super::target;
use super::task_rows::table_row;
use crate::args::{ConflictsArgs, Form, option_text};
use crate::render::{
    Meaning, OutputWidth, one_line, other_side_text, reason_text, shell_word, three_way_lines,
};
use regatta::error::Error;
use regatta::runs::{OpenConflict, can_be_settled, settle_options, unlanded_work};

/// The indent of what stands below a path.
const INDENT: &str = "    ";

/// How many digits of an object id are printed.
const DIGITS: usize = 12;

/// The versions of how many files are shown.
const MOST_SHOWN: usize = 20;

/// Lists conflicts and other work that did not land.
///
/// # Errors
/// The run or task does not exist, or the ledger cannot be read.
pub fn run(
    context: &CommandContext,
    args: &ConflictsArgs,
    out: Out<'_>,
) -> Result<ExitCode, Error> {
    let target = target::find(context, &args.target)?;
    let unlanded = unlanded_work(&target);
    let conflicts = unlanded.conflicts.into_iter().map(|open| ConflictEntry {
        task: &open.row.name,
        with: other_side_text(open.conflict),
        conflict: open.conflict,
        open,
    });
    let kept = unlanded.kept.into_iter().map(|row| {
        let why = table_row(&target.run, row).outcome.note;
        KeptEntry { task: &row.name, why }
    });
    let listed = ConflictsDocument {
        run: &target.run.name,
        merge: target.run.spec.merge,
        conflicts: conflicts.collect(),
        kept: kept.collect(),
    };
    match context.view.form {
        Form::Json => print_json(out, &listed)?,
        Form::Text => {
            let text = listed.text(context, out.room());
            say(out, &text)?;
        }
    }
    Ok(ExitCode::Success)
}

/// The work of a run that could not land.
#[derive(Serialize)]
struct ConflictsDocument<'a> {
    run: &'a RunName,
    /// Where the work of the run lands.
    #[serde(skip)]
    merge: MergeMode,
    conflicts: Vec<ConflictEntry<'a>>,
    kept: Vec<KeptEntry<'a>>,
}

/// A path on which a task conflicts with the tree.
#[derive(Serialize)]
struct ConflictEntry<'a> {
    task: &'a TaskName,
    /// What this task conflicts with: another task, or an edit of the user.
    #[serde(skip)]
    with: Option<String>,
    #[serde(flatten)]
    conflict: &'a Conflict,
    #[serde(skip)]
    open: OpenConflict<'a>,
}

/// Work that is kept for another reason.
#[derive(Serialize)]
struct KeptEntry<'a> {
    task: &'a TaskName,
    why: String,
}

impl ConflictsDocument<'_> {
    fn text(&self, context: &CommandContext, room: OutputWidth) -> String {
        let (mut lines, mut shown) = (Vec::new(), 0);
        let columns = match room {
            OutputWidth::Columns(columns) => columns.saturating_sub(INDENT.len()),
            OutputWidth::Pipe => usize::MAX,
        };
        for ConflictEntry { task, with, conflict, .. } in &self.conflicts {
            let path = one_line(&conflict.path.to_string());
            let path = context.view.palette.paint(Meaning::Kept, &path);
            let with = with.as_ref().map(|other| format!("with {other}: ")).unwrap_or_default();
            lines.push(format!("{task}  {path}  {with}{}", reason_text(conflict.reason)));
            if conflict.reason == ConflictReason::Encoding {
                let fault = context.runs.captured.encoding_fault(&conflict.path);
                lines.extend(fault.map(|fault| format!("    {}", one_line(&fault))));
            }
            lines.extend(conflict.renamed.as_ref().map(names_text));
            let sides =
                [("base", &conflict.base), ("ours", &conflict.ours), ("theirs", &conflict.theirs)];
            let sides = sides.map(|(name, side)| format!("{name} {}", side_text(side.as_ref())));
            lines.push(format!("    {}", sides.join("  ")));
            if shown < MOST_SHOWN {
                let hunks = hunk_lines(context, conflict, columns);
                shown += usize::from(!hunks.is_empty());
                lines.extend(hunks.into_iter().map(|line| format!("{INDENT}{line}")));
            }
        }
        for KeptEntry { task, why } in &self.kept {
            lines.push(format!("{task}  kept: {why}"));
        }
        if lines.is_empty() {
            return format!("nothing conflicts in run {}", self.run);
        }
        lines.push(String::new());
        let first = self
            .conflicts
            .first()
            .map(|found| found.task)
            .or(self.kept.first().map(|kept| kept.task));
        if let Some(task) = first {
            let look = context.hints.command(&format!("diff {}/{task}", self.run));
            lines.push(format!("its changes     {look}"));
        }
        if let Some(entry) =
            self.conflicts.first().filter(|it| can_be_settled(&context.runs, self.merge, &it.open))
        {
            lines.extend(self.settle_lines(context, entry));
        }
        let again = context.hints.command(&format!("apply {}", self.run));
        lines.push(format!("try again       {again}"));
        if let Some(task) = first {
            let diff = context.hints.command(&format!("diff {}/{task}", self.run));
            let first = "git add or commit your changes first";
            lines.push(format!("with git        {diff} | git apply --3way  ({first})"));
        }
        lines.join("\n")
    }

    /// Returns the lines with the commands that settle a conflict.
    fn settle_lines(
        &self,
        context: &CommandContext,
        &ConflictEntry { task, conflict, open, .. }: &ConflictEntry<'_>,
    ) -> Vec<String> {
        let name = format!("{}/{task}", self.run);
        let command = |words: &str| context.hints.command(words);
        // A path that is quoted here would be another one in a shell.
        let path = conflict.path.to_string();
        let path = (path.as_bytes() == conflict.path.as_bytes()).then(|| shell_word(&path));
        let path = path.map(|path| format!(" {path}")).unwrap_or_default();
        // Why they cannot be read stands with the conflict.
        let hunks = context.runs.captured.conflict_hunks(conflict).unwrap_or_default();
        let options = settle_options(conflict, self.merge, &hunks);
        let mut options = options.into_iter().map(option_text);
        let choice = options.next().unwrap_or("--ours");
        let others = options.collect::<Vec<_>>().join(", ");
        let others = match conflict.reason {
            ConflictReason::MissingCommit => {
                "or fetch the commit into the repository there, and try again".to_owned()
            }
            ConflictReason::Uncommitted => {
                "keeps the current version; an uncommitted change is never committed".to_owned()
            }
            ConflictReason::Filter => {
                "keeps the current version; git has to run the filter".to_owned()
            }
            ConflictReason::Encoding => {
                "keeps the current version; git has to convert the file".to_owned()
            }
            _ if others.is_empty() => {
                "keeps the current version; without a path, for all".to_owned()
            }
            _ => format!("or {others}; without a path, for all"),
        };
        let settle = command(&format!("apply {name} {choice}{path}"));
        let mut lines =
            vec![format!("settle it       {settle}"), format!("                {others}")];
        if open.has_rest {
            lines.push(format!("the rest now    {}", command(&format!("apply {name} --clean"))));
        }
        if matches!(self.merge, MergeMode::Branch | MergeMode::Stack) {
            let branch = command(&format!("apply {name} --branch NAME"));
            lines.push(format!("by hand         {branch}"));
            let merge = "git merge NAME, where the run lands; then try again";
            lines.push(format!("                and {merge}"));
        }
        lines
    }
}

/// Returns the lines that both sides of a conflict changed, or why they cannot be shown.
fn hunk_lines(context: &CommandContext, conflict: &Conflict, columns: usize) -> Vec<String> {
    match context.runs.captured.conflict_hunks(conflict) {
        Ok(hunks) => three_way_lines(&hunks, context.view.palette, columns),
        Err(error) => vec![one_line(&format!("its lines are not shown: {}", error_chain(&error)))],
    }
}

/// Returns the line with the names of a renamed file.
fn names_text(renamed: &RenamedFile) -> String {
    let name = |path: &RepoPath| one_line(&path.to_string());
    let side = |path: &Option<RepoPath>| path.as_ref().map_or("removed".to_owned(), name);
    let (ours, theirs) = (side(&renamed.ours), side(&renamed.theirs));
    format!("    {} -> {ours} (ours), {theirs} (theirs)", name(&renamed.from))
}

fn side_text(side: Option<&Side>) -> String {
    let Some(side) = side else { return "none".to_owned() };
    let digits: String = one_line(&side.oid).chars().take(DIGITS).collect();
    match side.mode {
        0o100_644 => digits,
        0o100_755 => format!("{digits} executable"),
        0o120_000 => format!("{digits} link"),
        other => format!("{digits} {other:o}"),
    }
}
