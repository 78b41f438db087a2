//! Which calls of tools are asked about, refused or allowed: a mode and rules.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WorkspaceKind;
use crate::quote_within;
use crate::rule_mistakes::{never_a_command, never_a_path};

/// The maximum number of bytes of a rule.
const LONGEST: usize = 1024;

/// Names by which agents know tools that change files.
const WRITERS: [&str; 6] =
    ["edit", "write", "multiedit", "notebookedit", "apply_patch", "notebook"];

/// The tools that a rule may name without an argument, besides those of servers: `mcp__SERVER__TOOL`.
const TOOLS: [&str; 6] = ["grep", "find", "glob", "ls", "yield", "task"];

/// Which calls are asked about where no rule says otherwise.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// None.
    Yolo,
    /// Those that run commands.
    Write,
    /// Those that change files or run commands.
    Ask,
}

impl ApprovalMode {
    /// Every mode, the strictest first.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Write, Self::Yolo];

    /// Returns the mode of work in this kind of workspace, where none is set. What is done in a copy does no
    /// harm before it lands.
    #[must_use]
    pub fn usual_in(workspace: WorkspaceKind) -> Self {
        match workspace {
            WorkspaceKind::Private => Self::Yolo,
            WorkspaceKind::Shared => Self::Ask,
        }
    }

    /// Returns the name of the mode.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Write => "write",
            Self::Yolo => "yolo",
        }
    }

    /// Finds the mode with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// A mode and rules. The rules are tried in the order deny, ask, allow; the mode decides about the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    /// Which calls are asked about where no rule matches; `None` for what is usual where the work is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<ApprovalMode>,
    /// Calls that are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<ApprovalRule>,
    /// Calls that are asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ask: Vec<ApprovalRule>,
    /// Calls that are not asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<ApprovalRule>,
}

impl Approvals {
    /// Returns whether nothing is set.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the mode for work in this kind of workspace.
    #[must_use]
    pub fn mode_in(&self, workspace: WorkspaceKind) -> ApprovalMode {
        self.mode.unwrap_or(ApprovalMode::usual_in(workspace))
    }
}

/// Which calls a rule is about: `bash(cargo test *)`, `edit(docs/**)`, `read(.env)`, `mcp__web__fetch`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalRule {
    text: String,
    /// The calls.
    pub calls: RuleCalls,
}

/// The calls that a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleCalls {
    /// Commands that match this pattern of words; all if there is none.
    Command(Option<Vec<String>>),
    /// Changes of files that match this glob; all if there is none.
    Write(Option<String>),
    /// Reading of files that match this glob; all if there is none.
    Read(Option<String>),
    /// Every call of the tool with this name, or of the tools of servers that this pattern with `*` names.
    Tool(String),
}

/// Why a text is not a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is too long.
    #[error("the rule `{0}` is longer than {LONGEST} bytes")]
    TooLong(String),
    /// It names every tool.
    #[error(
        "the rule `*` would be about every tool; set `approvals.mode` instead, or name a tool, as in \
         `bash(cargo test *)`"
    )]
    EveryTool,
    /// It has no such form.
    #[error("the rule `{0}` is not of the form TOOL or TOOL(PATTERN), as in `bash(cargo test *)`")]
    Form(String),
    /// It names no tool.
    #[error("the rule `{rule}` names no tool; {}", meant(.near))]
    UnknownTool {
        /// The rule.
        rule: String,
        /// The tool that may be meant.
        near: Option<&'static str>,
    },
    /// Its tool takes no pattern.
    #[error("in the rule `{0}`, the tool takes no pattern; bash, edit, write and read do")]
    NoPattern(String),
    /// Its glob can match no path below the working tree.
    #[error(
        "the glob of the rule `{0}` must be a path from the root of the working tree, with `*`, `**` and `?`"
    )]
    Glob(String),
    /// It can never match.
    #[error("the rule `{rule}` matches nothing, because {why}; write {instead}")]
    Never {
        /// The rule.
        rule: String,
        /// Why it matches nothing.
        why: &'static str,
        /// What to write in its place.
        instead: String,
    },
    /// It is about commands of one word only.
    #[error(
        "the rule `{rule}` matches no command with arguments, such as `{name} x`; write `bash({name} *)` for \
         `{name}` with any arguments, or `bash({name}* *)` for each command that begins with `{name}`"
    )]
    NoArguments {
        /// The rule.
        rule: String,
        /// The begin of the name of the command.
        name: String,
    },
}

fn meant(near: &Option<&'static str>) -> String {
    match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "those with a pattern are bash, edit, write and read".to_owned(),
    }
}

impl ApprovalRule {
    /// Returns the rule as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for ApprovalRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let shown = || quote_within(text, 60);
        if text.len() > LONGEST {
            return Err(RuleError::TooLong(shown()));
        }
        if text == "*" {
            return Err(RuleError::EveryTool);
        }
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let pattern = rest.strip_suffix(')').map(str::trim);
                let pattern = pattern.filter(|pattern| !pattern.is_empty());
                (tool, Some(pattern.ok_or_else(|| RuleError::Form(shown()))?))
            }
        };
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        let is_pattern = |letter: char| letter == '*' && tool.starts_with("mcp__");
        let is_form = tool.chars().all(|letter| is_name(letter) || is_pattern(letter));
        if tool.is_empty() || !is_form || text.chars().any(char::is_control) {
            return Err(RuleError::Form(shown()));
        }
        let lower = tool.to_ascii_lowercase();
        let never = |(why, instead)| RuleError::Never { rule: shown(), why, instead };
        let glob = || match pattern {
            None | Some("*" | "**") => Ok(None),
            Some(pattern) => match never_a_path(tool, pattern) {
                Some(why) => Err(never(why)),
                None => glob(pattern).map(Some).ok_or_else(|| RuleError::Glob(shown())),
            },
        };
        let calls = match lower.as_str() {
            "bash" => {
                if let Some(why) = pattern.and_then(never_a_command) {
                    return Err(never(why));
                }
                let words = pattern.and_then(command_pattern);
                if let Some([name]) = words.as_deref()
                    && let Some(name) = name.strip_suffix('*')
                {
                    let (rule, name) = (shown(), quote_within(name, 60));
                    return Err(RuleError::NoArguments { rule, name });
                }
                RuleCalls::Command(words)
            }
            "read" => RuleCalls::Read(glob()?),
            writer if WRITERS.contains(&writer) => RuleCalls::Write(glob()?),
            _ if pattern.is_some() && (TOOLS.contains(&&*lower) || tool.starts_with("mcp__")) => {
                return Err(RuleError::NoPattern(shown()));
            }
            "glob" => RuleCalls::Tool("find".to_owned()),
            name if TOOLS.contains(&name) => RuleCalls::Tool(lower),
            _ if tool.starts_with("mcp__") => RuleCalls::Tool(tool.to_owned()),
            _ => return Err(RuleError::UnknownTool { rule: shown(), near: near(&lower) }),
        };
        Ok(Self { text: text.to_owned(), calls })
    }
}

/// Returns the words of a pattern; `None` if it matches every command. `npm run:*` is `npm run *`.
fn command_pattern(pattern: &str) -> Option<Vec<String>> {
    let prefix = pattern.strip_suffix(":*");
    let words = prefix.unwrap_or(pattern).split_whitespace().map(str::to_owned);
    let words: Vec<_> = words.chain(prefix.map(|_| "*".to_owned())).collect();
    words.iter().any(|word| word != "*").then_some(words)
}

/// Returns the glob, unless it cannot be a path below the working tree. A `./` at its beginning stays only before
/// a single name.
fn glob(pattern: &str) -> Option<String> {
    let below = pattern.strip_prefix("./").unwrap_or(pattern);
    let is_path = !below.starts_with(['/', '~']) && !below.split('/').any(|name| name == "..");
    let is_plain = !below.contains(['{', '}']) && !below.trim_end_matches('/').is_empty();
    let below = below.trim_end_matches('/');
    // By itself, a name is one in any folder.
    let is_anchored = pattern.starts_with("./") && !below.contains('/');
    (is_path && is_plain).then(|| match is_anchored {
        true => format!("./{below}"),
        false => below.to_owned(),
    })
}

/// Returns the tool whose name differs from `name` by one letter.
fn near(name: &str) -> Option<&'static str> {
    let known = ["bash", "read"].into_iter().chain(WRITERS).chain(TOOLS);
    let one_less = |longer: &str, shorter: &str| {
        longer.char_indices().any(|(at, letter)| {
            format!("{}{}", &longer[..at], &longer[at + letter.len_utf8()..]) == shorter
        })
    };
    let one_other = |a: &str, b: &str| {
        a.len() == b.len() && a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count() <= 2
    };
    let mut near = known.filter(|known| {
        one_less(name, known)
            || one_less(known, name)
            || (known.len() > 3 && one_other(name, known))
    });
    near.next()
}

impl TryFrom<String> for ApprovalRule {
    type Error = RuleError;

    fn try_from(text: String) -> Result<Self, RuleError> {
        text.parse()
    }
}

impl From<ApprovalRule> for String {
    fn from(rule: ApprovalRule) -> Self {
        rule.text
    }
}

impl fmt::Display for ApprovalRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(text: &str) -> RuleCalls {
        text.parse::<ApprovalRule>().unwrap_or_else(|error| panic!("{text}: {error}")).calls
    }

    #[test]
    fn a_rule_names_a_tool_and_what_the_call_is_about() {
        let command = |words: &[&str]| {
            RuleCalls::Command(Some(words.iter().map(|word| (*word).to_owned()).collect()))
        };
        let write = |glob: &str| RuleCalls::Write(Some(glob.to_owned()));
        for (text, expected) in [
            ("bash", RuleCalls::Command(None)),
            ("bash(*)", RuleCalls::Command(None)),
            ("Bash(:*)", RuleCalls::Command(None)),
            ("bash(cargo test *)", command(&["cargo", "test", "*"])),
            ("Bash(npm run:*)", command(&["npm", "run", "*"])),
            (" bash( cargo  test ) ", command(&["cargo", "test"])),
            ("bash(npm run test*)", command(&["npm", "run", "test*"])),
            ("bash(rm* *)", command(&["rm*", "*"])),
            ("bash(find * -exec rm {} ;)", command(&["find", "*", "-exec", "rm", "{}", ";"])),
            ("bash(grep a|b x)", command(&["grep", "a|b", "x"])),
            ("bash(make CI=1)", command(&["make", "CI=1"])),
            ("edit(docs/**)", write("docs/**")),
            ("Write(./docs/)", write("./docs")),
            ("Write(./docs/a/)", write("docs/a")),
            ("MultiEdit", RuleCalls::Write(None)),
            ("edit(**)", RuleCalls::Write(None)),
            ("read(.env)", RuleCalls::Read(Some(".env".to_owned()))),
            ("Grep", RuleCalls::Tool("grep".to_owned())),
            ("Glob", RuleCalls::Tool("find".to_owned())),
            ("mcp__Web__fetch", RuleCalls::Tool("mcp__Web__fetch".to_owned())),
        ] {
            assert_eq!(calls(text), expected, "{text}");
        }
        let rule: ApprovalRule = serde_json::from_str("\"edit(docs/**)\"").expect("it is a rule");
        assert_eq!(serde_json::to_string(&rule).expect("it is a text"), "\"edit(docs/**)\"");
    }

    #[test]
    fn what_is_not_a_rule_is_refused_and_its_error_says_what_is_meant() {
        let long = format!("bash({})", "a".repeat(10_000));
        for (text, expected) in [
            ("*", "would be about every tool"),
            ("", "not of the form"),
            ("bash(", "not of the form"),
            ("bash()", "not of the form"),
            ("bash(rm *", "not of the form"),
            ("ba sh(rm)", "not of the form"),
            ("bash(a\u{7})", "not of the form"),
            ("bsh(rm *)", "did you mean `bash`?"),
            ("bahs(rm *)", "did you mean `bash`?"),
            ("Edti(docs/**)", "did you mean `edit`?"),
            ("shell(rm *)", "names no tool; those"),
            ("grep(src)", "takes no pattern"),
            ("edit(/etc/**)", "a path from the root of the working tree"),
            ("edit(../x)", "a path from the root of the working tree"),
            ("read(~/.ssh/**)", "a path from the root of the working tree"),
            ("edit(a.{rs,md})", "a path from the root of the working tree"),
            (long.as_str(), "longer than 1024 bytes"),
            ("edit(docs//f)", "write `edit(docs/f)`"),
            ("edit(./docs/./f)", "write `edit(docs/f)`"),
            ("Edit(././f)", "write `Edit(f)`"),
            ("read(.)", "write `read`"),
            ("edit(!docs)", "no exceptions; write what it is about in `allow`, `ask` or `deny`"),
            ("edit(docs\\f)", "write `edit(docs/f)`"),
            ("bash(\"rm x\")", "without their quotes; write `bash(rm x)`"),
            ("bash(echo 'a')", "write `bash(echo a)`"),
            ("bash(rm x && ls)", "compared by itself; write `bash(rm x)`, `bash(ls)`"),
            ("bash(cat a|| rm *)", "write `bash(cat a)`, `bash(rm *)`"),
            ("bash(ls | wc)", "write `bash(ls)`, `bash(wc)`"),
            ("bash(cd .github; *)", "write `bash(cd .github)`"),
            ("bash(echo x > f)", "write `bash(echo x)`, and `edit(FILE)`"),
            ("bash(make 2>&1)", "write `bash(make)`, and `edit(FILE)`"),
            ("bash(CI=1 make *)", "write `bash(make *)`"),
            ("bash(rm*)", "no command with arguments, such as `rm x`; write `bash(rm *)`"),
        ] {
            let error = text.parse::<ApprovalRule>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(error.len() < 300, "{error}");
        }
    }
}
