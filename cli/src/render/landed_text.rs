//! What a landing did besides merging: the branch, the joined files, the settled conflicts.

use protocol::{RepoPath, ResolverFailure, ResolverRecord, Settled, SettledBy};

use super::numbers::count;
use super::printable::{cut, one_line};

/// Describes where work has landed, and which files were joined; empty for neither.
#[must_use]
pub fn landed_text(branch: Option<&str>, joined: &[RepoPath]) -> String {
    let branch = branch.map(|branch| format!("branch {branch}"));
    let joined = (!joined.is_empty()).then(|| {
        let paths: Vec<_> = joined.iter().map(RepoPath::to_string).collect();
        format!("joined {}", paths.join(", "))
    });
    let parts: Vec<_> = branch.into_iter().chain(joined).collect();
    parts.join("; ")
}

/// Describes each file that a resolver wrote: who wrote it, and where that is recorded.
#[must_use]
pub fn resolver_lines(settled: &Settled) -> Vec<String> {
    let resolved = settled.conflicts.iter().filter_map(|conflict| {
        let path = one_line(&conflict.path.to_string());
        Some(format!("{path} was resolved by {}", resolver_text(conflict.resolver.as_ref()?)))
    });
    resolved.collect()
}

/// Describes each conflict that a resolver did not settle: which resolver, and why.
#[must_use]
pub fn unresolved_lines(failures: &[ResolverFailure]) -> Vec<String> {
    let lines = failures.iter().map(|ResolverFailure { path, why, resolver }| {
        let (path, resolver) = (one_line(&path.to_string()), resolver_text(resolver));
        format!("{path} was not resolved by {resolver}: {}", one_line(why))
    });
    lines.collect()
}

fn resolver_text(resolver: &ResolverRecord) -> String {
    let ResolverRecord { program, exit_code, run, capture } = resolver;
    let code = exit_code.map(|code| format!(", exit code {code}"));
    let run = run.as_ref().map(|run| format!(", run {run}"));
    let capture = capture.as_ref().map(|capture| format!(", captured as {capture}"));
    let parts: String = [code, run, capture].into_iter().flatten().collect();
    format!("`{}`{parts}", cut(&one_line(program), PROGRAM))
}

/// How much of a resolver's command is shown, in columns.
const PROGRAM: usize = 60;

/// Describes what was settled of the conflicts of a task; empty for nothing.
#[must_use]
pub fn settled_text(settled: &Settled) -> String {
    const NAMED: usize = 5;
    let of = |by: SettledBy| {
        let mut paths = settled.conflicts.iter().filter(|conflict| conflict.by == by);
        let mut named: Vec<_> =
            paths.by_ref().take(NAMED).map(|conflict| conflict.path.to_string()).collect();
        let more = paths.count();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        let how = match by {
            SettledBy::Ours => "ours kept",
            SettledBy::Theirs => "theirs taken",
            SettledBy::Union => "both kept",
            SettledBy::Markers => "markers",
            SettledBy::Tool => "by the merge tool",
            SettledBy::Resolver => "by the resolver",
        };
        (!named.is_empty()).then(|| format!("{how}: {}", named.join(", ")))
    };
    let all = [
        SettledBy::Ours,
        SettledBy::Theirs,
        SettledBy::Union,
        SettledBy::Markers,
        SettledBy::Tool,
        SettledBy::Resolver,
    ];
    let mut parts: Vec<_> = all.into_iter().filter_map(of).collect();
    let is_other = |path: &&RepoPath| settled.conflicts.iter().all(|other| other.path != **path);
    let others = settled.landed.iter().filter(is_other).count();
    if others > 0 {
        parts.push(format!("{} landed", count(others, "other path")));
    }
    parts.join("; ")
}
