//! Lands the work of tasks on branches of several repositories: that of the user, and each nested
//! one in which a task worked. First every part is tried in memory; then what has no conflict in any
//! of them becomes branches, those of nested repositories first. A crash in between leaves branches
//! that the next landing of the same work finds again.

use std::collections::BTreeMap;

use engine::ports::{LandingRequest, LandingTask, Notice};
use git2::Oid;
use protocol::{Landed, LandingReport, RepoPath, TaskLanding, TaskName};

use crate::branch::{Publish, head_tree};
use crate::error::{Result, error_text};
use crate::merge::missing_predecessors;
use crate::nested::{
    GitLink, GitLinks, NO_LINKS, NestedWork, Part, git_link, is_reachable, nested_of,
};
use crate::repository::Repo;
use crate::store::TaskStore;

/// What landing one part gave.
pub(super) struct PartLanding {
    pub(super) report: LandingReport,
    /// The commit with the work of each task that landed.
    pub(super) tips: BTreeMap<TaskName, Oid>,
    pub(super) notices: Vec<Notice>,
}

/// Lands one part of the tasks of a request in its repository.
pub(super) type LandPart<'a> =
    dyn Fn(&Repo, Part<'_>, &LandingRequest, Publish) -> Result<PartLanding> + 'a;

/// Returns the folders of all nested repositories in which the tasks worked, sorted.
pub(super) fn nested_roots(store: &TaskStore, tasks: &[LandingTask]) -> Vec<RepoPath> {
    // Landing the task reports a capture that cannot be read.
    let roots = tasks.iter().filter_map(|task| store.nested_roots(&task.capture).ok());
    let mut roots: Vec<RepoPath> = roots.flatten().collect();
    roots.sort();
    roots.dedup();
    roots
}

/// The parts of a landing.
pub(super) struct Parts<'a> {
    pub(super) repo: &'a Repo,
    pub(super) store: &'a TaskStore,
    /// The folders of the nested repositories, sorted.
    pub(super) roots: &'a [RepoPath],
    pub(super) land: &'a LandPart<'a>,
}

impl Parts<'_> {
    /// Lands every part of each task, or none.
    pub(super) fn land(
        &self,
        request: &LandingRequest,
        publish: Publish,
    ) -> Result<(LandingReport, Vec<Notice>)> {
        let nested: BTreeMap<_, _> =
            self.roots.iter().map(|root| (root, self.nested(root, request, Publish::No))).collect();
        let missing = self.missing_commits(request, &nested)?;
        let report = |(root, landing): (_, PartLanding)| (Part::Nested(root), landing.report);
        let mut tried: Vec<_> = nested.into_iter().map(report).collect();
        let root = Part::Root(&NO_LINKS);
        tried.push((root, missing));
        tried.push((root, (self.land)(self.repo, root, request, Publish::No)?.report));
        let tried = joined(request, &tried);
        if publish == Publish::No {
            return Ok((tried, Vec::new()));
        }
        let can_land =
            |landed: &Landed| matches!(landed, Landed::Landed { .. } | Landed::Unchanged);
        let tasks = request.tasks.iter().zip(&tried.tasks);
        let tasks = tasks.filter(|(_, landing)| can_land(&landing.landed));
        let possible = tasks.map(|(task, _)| task.clone()).collect();
        let possible = LandingRequest { tasks: possible, ..request.clone() };
        let (landed, notices) = self.publish(&possible)?;
        let mut landed = landed.tasks.into_iter();
        let tasks = tried.tasks.into_iter().map(|tried| match can_land(&tried.landed) {
            true => landed.next().unwrap_or(tried),
            false => tried,
        });
        Ok((LandingReport { tasks: tasks.collect() }, notices))
    }

    fn publish(&self, request: &LandingRequest) -> Result<(LandingReport, Vec<Notice>)> {
        let (mut landings, mut notices) = (Vec::new(), Vec::new());
        let mut tips = BTreeMap::new();
        for root in self.roots {
            let landing = self.nested(root, request, Publish::Yes);
            notices.extend(landing.notices);
            notices.extend(notice_of_branches(root, &landing.report));
            tips.insert(root, landing.tips);
            landings.push((Part::Nested(root), landing.report));
        }
        let links = self.links(request, &tips, &mut notices)?;
        // What could not be written in a nested repository does not land in the user's either.
        let so_far = joined(request, &landings);
        let is_written = |landing: &TaskLanding| {
            matches!(landing.landed, Landed::Landed { .. } | Landed::Unchanged)
        };
        let tasks = request.tasks.iter().zip(&so_far.tasks);
        let tasks = tasks.filter(|(_, landing)| is_written(landing)).map(|(task, _)| task.clone());
        let rest = LandingRequest { tasks: tasks.collect(), ..request.clone() };
        let root = Part::Root(&links);
        let landing = (self.land)(self.repo, root, &rest, Publish::Yes)?;
        notices.extend(landing.notices);
        landings.push((root, landing.report));
        Ok((joined(request, &landings), notices))
    }

    /// Lands the part in the nested repository in `root`. An error concerns its tasks only.
    fn nested(&self, root: &RepoPath, request: &LandingRequest, publish: Publish) -> PartLanding {
        let landed = match nested_of(self.repo, self.roots, root) {
            Ok(nested) => (self.land)(&nested.repo, Part::Nested(root), request, publish)
                .map_err(|error| error_text(&error)),
            Err(why) => Err(why),
        };
        landed.unwrap_or_else(|why| {
            let message = format!("the repository {root} cannot be used: {why}");
            let tasks = request.tasks.iter().map(|task| {
                let roots = self.store.nested_roots(&task.capture).unwrap_or_default();
                let landed = match roots.contains(root) {
                    true => Landed::Unwritten { message: message.clone() },
                    false => Landed::Unchanged,
                };
                TaskLanding::of(task.task.clone(), landed)
            });
            let report = LandingReport { tasks: tasks.collect() };
            PartLanding { report, tips: BTreeMap::new(), notices: Vec::new() }
        })
    }

    /// Returns the commits that the submodules go to. A commit that is nowhere in the user's
    /// repositories is a conflict, unless the submodule stays as it is, which is reported.
    fn links(
        &self,
        request: &LandingRequest,
        tips: &BTreeMap<&RepoPath, BTreeMap<TaskName, Oid>>,
        notices: &mut Vec<Notice>,
    ) -> Result<GitLinks> {
        let git = self.repo.git()?;
        let tree = head_tree(&git)?;
        let mut links = GitLinks::new();
        for task in &request.tasks {
            let works = self.store.contents(&task.capture)?.nested;
            for work in works.iter().filter(|work| work.has_moved()) {
                let landed = tips.get(&work.path).and_then(|tips| tips.get(&task.task)).copied();
                let to = landed.or_else(|| self.on_the_users_side(work));
                let is_link = match tree {
                    Some(tree) => git_link(&git, tree, &work.path)?.is_some(),
                    None => false,
                };
                match (to, is_link) {
                    (Some(to), true) => {
                        let link = GitLink { path: work.path.clone(), to };
                        links.entry(task.task.clone()).or_default().push(link);
                    }
                    (Some(_), false) if landed.is_some() => {}
                    (Some(to), false) => notices.push(Notice {
                        from: format!(
                            "the commit that task {} checked out in {}",
                            task.task, work.path
                        ),
                        to: "the repository there stays where it is".to_owned(),
                        why: format!(
                            "it is not a submodule; git -C {} switch --detach {to}",
                            work.path
                        ),
                    }),
                    (None, _) => notices.push(Notice {
                        from: format!("the commit that task {} left in {}", task.task, work.path),
                        to: format!("{} stays where it is", work.path),
                        why: "it has no work that landed, and the repository there lacks it"
                            .to_owned(),
                    }),
                }
            }
        }
        Ok(links)
    }

    /// Returns the commit that a task has checked out, if the user's nested repository has it.
    pub(super) fn on_the_users_side(&self, work: &NestedWork) -> Option<Oid> {
        let nested = nested_of(self.repo, self.roots, &work.path).ok()?;
        work.to.filter(|to| is_reachable(&nested.git, *to))
    }
}

/// Returns the report of each task, from those of its parts.
fn joined(request: &LandingRequest, parts: &[(Part<'_>, LandingReport)]) -> LandingReport {
    let mut landings: Vec<TaskLanding> = Vec::with_capacity(request.tasks.len());
    for task in &request.tasks {
        let own = parts.iter().filter_map(|(part, report)| {
            let landing = report.tasks.iter().find(|landing| landing.task == task.task)?;
            Some((*part, &landing.landed))
        });
        let mut whole = Landed::Unchanged;
        for (part, landed) in own {
            whole = both(whole, part, landed);
        }
        let on = missing_predecessors(task, &landings);
        if !on.is_empty() && matches!(whole, Landed::Landed { .. } | Landed::Waiting { .. }) {
            whole = Landed::Waiting { on };
        }
        landings.push(TaskLanding::of(task.task.clone(), whole));
    }
    LandingReport { tasks: landings }
}

/// Joins the result of a further part with those before it.
fn both(whole: Landed, part: Part<'_>, landed: &Landed) -> Landed {
    match (whole, landed.clone()) {
        (Landed::Conflicted { mut conflicts }, Landed::Conflicted { conflicts: more }) => {
            conflicts.extend(part.whole_conflicts(more));
            Landed::Conflicted { conflicts }
        }
        (conflicted @ Landed::Conflicted { .. }, _) => conflicted,
        (_, Landed::Conflicted { conflicts }) => {
            Landed::Conflicted { conflicts: part.whole_conflicts(conflicts) }
        }
        (unwritten @ Landed::Unwritten { .. }, _) | (_, unwritten @ Landed::Unwritten { .. }) => {
            unwritten
        }
        // No landing of a part gives these results.
        (other @ (Landed::TakenBack { .. } | Landed::Unverified(_)), _)
        | (_, other @ (Landed::TakenBack { .. } | Landed::Unverified(_))) => other,
        (waiting @ Landed::Waiting { .. }, _) | (_, waiting @ Landed::Waiting { .. }) => waiting,
        (Landed::Landed { branch, mut joined }, Landed::Landed { branch: other, joined: more }) => {
            joined.extend(more.into_iter().map(|path| part.whole_path(path)));
            Landed::Landed { branch: other.or(branch), joined }
        }
        (Landed::Unchanged, Landed::Landed { branch, joined }) => {
            let joined = joined.into_iter().map(|path| part.whole_path(path)).collect();
            Landed::Landed { branch, joined }
        }
        (whole, Landed::Unchanged) => whole,
    }
}

/// Returns the notice about the branches in a nested repository.
fn notice_of_branches(root: &RepoPath, report: &LandingReport) -> Option<Notice> {
    let branches = report.tasks.iter().filter_map(|landing| match &landing.landed {
        Landed::Landed { branch, .. } => branch.clone(),
        Landed::Unchanged
        | Landed::Conflicted { .. }
        | Landed::Unwritten { .. }
        | Landed::TakenBack { .. }
        | Landed::Unverified(_)
        | Landed::Waiting { .. } => None,
    });
    let mut branches: Vec<String> = branches.collect();
    branches.dedup();
    let first = branches.first()?;
    let more = match branches.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Notice {
        from: format!("the work in {root}"),
        to: format!("it is on the branch {first} there{more}"),
        why: "it is a repository of its own".to_owned(),
    })
}
