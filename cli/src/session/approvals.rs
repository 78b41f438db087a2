//! What `/approvals` shows: the mode and the rules of a session, and where each comes from. The view adds what
//! was allowed for the session.

use std::path::PathBuf;
use std::sync::Arc;

use actors::ChosenMode;
use config::Settings;
use engine::ports::TrustedRules;
use protocol::{ApprovalMode, ApprovalRule, WorkspaceKind};

use super::setup::SessionPlace;
use crate::args::LaunchArgs;
use crate::render::one_line;
use regatta::app_context::AppContext;

/// The approvals of the sessions of a conversation.
#[derive(Clone)]
pub(crate) struct SessionApprovals {
    settings: Arc<Settings>,
    /// The mode of the command line.
    typed: Option<ApprovalMode>,
    chosen: ChosenMode,
    workspace: WorkspaceKind,
    trusted: Arc<dyn TrustedRules>,
    folder: PathBuf,
}

impl SessionApprovals {
    pub(crate) fn of(
        app: &AppContext,
        args: &LaunchArgs,
        place: &SessionPlace,
        chosen: ChosenMode,
    ) -> Self {
        Self {
            settings: Arc::new(app.settings.clone()),
            typed: args.approval_mode,
            chosen,
            workspace: place.workspace(),
            trusted: app.trusted_rules(),
            folder: place.folder.clone(),
        }
    }

    /// Changes the mode, and returns a line that says so.
    pub(crate) fn change(&self, mode: ApprovalMode) -> String {
        self.chosen.set(mode);
        format!("approval mode {}: {}", mode.name(), what_is_asked(mode))
    }

    /// Returns lines with the mode and the rules.
    pub(crate) async fn lines(self) -> Vec<String> {
        let trusted = self.trusted.rules(&self.folder).await;
        let settings = &self.settings;
        let (mode, origin) = self.mode();
        let about = what_is_asked(mode);
        let mut lines = vec![format!("approval mode {} ({origin}): {about}", mode.name())];
        let lists = [
            ("deny", &settings.approvals_deny),
            ("ask", &settings.approvals_ask),
            ("allow", &settings.approvals_allow),
        ];
        for (name, rules) in lists {
            // A project adds to the lists of the user.
            for of_one in rules.chunk_by(|one, next| one.origin == next.origin) {
                let origin = of_one[0].origin.to_string();
                lines.push(rules_line(name, of_one.iter().map(|rule| &rule.value), &origin));
            }
        }
        match trusted {
            Ok(rules) if rules.is_empty() => {}
            Ok(rules) => {
                lines.push(rules_line("allow", rules.iter(), "always, in this repository"));
            }
            Err(why) => lines.push(format!("no answer was kept as a rule: {why}")),
        }
        if lines.len() == 1 {
            lines.push("there are no rules".to_owned());
        }
        lines.iter().map(|line| one_line(line)).collect()
    }

    /// Returns the mode, and where it comes from.
    fn mode(&self) -> (ApprovalMode, String) {
        let set = &self.settings.approval_mode;
        if let Some(mode) = self.chosen.get() {
            (mode, "/approvals".to_owned())
        } else if let Some(mode) = self.typed {
            (mode, "--approval-mode".to_owned())
        } else if let Some(mode) = set.value {
            (mode, set.origin.to_string())
        } else {
            let origin = match self.workspace {
                WorkspaceKind::Private => "the default in a copy",
                WorkspaceKind::Shared => "the default in place",
            };
            (ApprovalMode::usual_in(self.workspace), origin.to_owned())
        }
    }
}

fn what_is_asked(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "changes of files and commands are asked about",
        ApprovalMode::Write => "commands are asked about",
        ApprovalMode::Yolo => "what no rule denies or asks about runs",
    }
}

fn rules_line<'a>(
    name: &str,
    rules: impl Iterator<Item = &'a ApprovalRule>,
    origin: &str,
) -> String {
    let rules: Vec<_> = rules.map(ApprovalRule::as_str).collect();
    format!("{name} {} ({origin})", rules.join(", "))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use async_trait::async_trait;
    use config::Sources;

    use super::*;

    struct Trusted(Result<Vec<ApprovalRule>, String>);

    #[async_trait]
    impl TrustedRules for Trusted {
        async fn rules(&self, _folder: &Path) -> Result<Vec<ApprovalRule>, String> {
            self.0.clone()
        }

        async fn add(&self, _folder: &Path, _rules: Vec<ApprovalRule>) -> Result<(), String> {
            unreachable!("nothing is kept")
        }
    }

    fn approvals(text: &str, trusted: Result<&[&str], &str>) -> SessionApprovals {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yml");
        std::fs::write(&file, text).unwrap();
        let sources = Sources { file: &file, home: None, variable: &|_| None, flags: &[] };
        let (settings, _) = Settings::load(&sources).unwrap();
        let rules = |rules: &[&str]| rules.iter().map(|rule| rule.parse().unwrap()).collect();
        SessionApprovals {
            settings: Arc::new(settings),
            typed: None,
            chosen: ChosenMode::default(),
            workspace: WorkspaceKind::Shared,
            trusted: Arc::new(Trusted(trusted.map(rules).map_err(str::to_owned))),
            folder: folder.path().to_owned(),
        }
    }

    #[test]
    async fn the_mode_and_the_rules_are_listed_with_the_place_of_each() {
        let mode = async |approvals: &SessionApprovals| approvals.clone().lines().await.remove(0);
        let unset = approvals("", Ok(&[]));
        let lines = unset.clone().lines().await;
        let asks = "changes of files and commands are asked about";
        assert_eq!(lines[0], format!("approval mode ask (the default in place): {asks}"));
        assert_eq!(lines[1..], ["there are no rules"]);
        let copy = SessionApprovals { workspace: WorkspaceKind::Private, ..unset };
        assert!(mode(&copy).await.starts_with("approval mode yolo (the default in a copy)"));

        let text = "approvals: { mode: write, deny: ['bash(rm *)', read(.env)] }";
        let set = approvals(text, Ok(&["bash(cargo build)"]));
        let lines = set.clone().lines().await;
        assert!(lines[0].contains("approval mode write (/"), "{lines:?}");
        assert!(lines[0].contains("config.yml:1): commands are asked about"), "{lines:?}");
        assert!(lines[1].starts_with("deny bash(rm *), read(.env) (/"), "{lines:?}");
        assert_eq!(lines[2..], ["allow bash(cargo build) (always, in this repository)"]);
        let mut joined = set.clone();
        let settings = Arc::make_mut(&mut joined.settings);
        let origin = config::Origin::Project { file: "/p/config.yml".into(), line: 3 };
        let more = config::Setting { value: "edit(ci/**)".parse().unwrap(), origin };
        settings.approvals_deny.push(more);
        let lines = joined.lines().await;
        assert!(lines[1].starts_with("deny bash(rm *), read(.env) (/"), "{lines:?}");
        assert_eq!(lines[2], "deny edit(ci/**) (/p/config.yml:3)");
        let typed = SessionApprovals { typed: Some(ApprovalMode::Yolo), ..set };
        assert!(mode(&typed).await.starts_with("approval mode yolo (--approval-mode)"));
        assert_eq!(typed.change(ApprovalMode::Ask), format!("approval mode ask: {asks}"));
        assert!(mode(&typed).await.starts_with("approval mode ask (/approvals)"));

        let lines = approvals("", Err("a newer version wrote it")).lines().await;
        assert_eq!(lines[1], "no answer was kept as a rule: a newer version wrote it");
    }
}
