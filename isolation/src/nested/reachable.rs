//! Whether a commit is on the user's side: reachable from what the user's repository names. One that
//! merely lies among its objects may be gone tomorrow.

use git2::{ErrorCode, Oid, Repository};

/// Returns whether a commit is reachable from HEAD, a reference, or what was fetched last.
pub(crate) fn is_reachable(git: &Repository, commit: Oid) -> bool {
    git.find_commit(commit).is_ok_and(|_there| find(git, commit).unwrap_or(false))
}

fn find(git: &Repository, commit: Oid) -> Result<bool, git2::Error> {
    let mut walk = git.revwalk()?;
    walk.push_glob("*")?;
    match walk.push_head() {
        Err(error) if !matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
            return Err(error);
        }
        _ => {}
    }
    let mut fetched = Vec::new();
    // Without the file nothing was fetched.
    let _none = git.fetchhead_foreach(|_, _, id, _| {
        fetched.push(*id);
        true
    });
    for id in fetched {
        // Tags of other objects lead to no commit.
        let _no_commit = walk.push(id);
    }
    // Only what is later than the commit has to be looked at.
    for parent in git.find_commit(commit)?.parent_ids() {
        walk.hide(parent)?;
    }
    for id in walk {
        if id? == commit {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use crate::testing::Sample;

    use super::*;

    fn commit(git: &Repository, reference: Option<&str>, parents: &[Oid], message: &str) -> Oid {
        let signature = git2::Signature::now("Ada", "ada@example.org").unwrap();
        let parents: Vec<_> = parents.iter().map(|id| git.find_commit(*id).unwrap()).collect();
        let tree = parents[0].tree().unwrap();
        let parents: Vec<_> = parents.iter().collect();
        git.commit(reference, &signature, &signature, message, &tree, &parents).unwrap()
    }

    #[test]
    fn a_commit_counts_if_a_reference_or_head_leads_to_it_and_not_if_it_only_lies_there() {
        let sample = Sample::with(&[("a", "a\n")]);
        let git = sample.repo().git().unwrap();
        let head = git.head().unwrap().target().unwrap();
        let lost = commit(&git, None, &[head], "lost");
        assert!(is_reachable(&git, head) && !is_reachable(&git, lost));
        let side = commit(&git, Some("refs/heads/side"), &[head], "side");
        let later = commit(&git, Some("refs/heads/side"), &[side], "later");
        assert!(is_reachable(&git, side) && is_reachable(&git, later));
        git.reference("refs/tags/kept", lost, false, "kept").unwrap();
        assert!(is_reachable(&git, lost));
        assert!(!is_reachable(&git, Oid::from_bytes(&[7; 20]).unwrap()));
    }
}
