//! A scenario file as it is played: everything in it is known to be right.

use std::sync::Arc;
use std::time::Duration;

use protocol::Usage;
use regex::Regex;
use serde_json::Value;

use super::file::Fault;
use super::template::Template;

/// All scenarios of a file, in its order.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) scenarios: Vec<Arc<Scenario>>,
}

/// What a model says in a session that begins in a certain way.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// What the first message has to look like; anything will do without one.
    pub(crate) when: Option<Regex>,
    pub(crate) turns: Vec<Turn>,
}

/// One answer.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) remember: Vec<Remember>,
    pub(crate) thinking: Option<Template>,
    pub(crate) text: Option<Template>,
    pub(crate) calls: Vec<Call>,
    pub(crate) delay: Duration,
    pub(crate) pace: Duration,
    pub(crate) usage: Option<Usage>,
    pub(crate) fault: Option<Planned>,
    pub(crate) after: After,
}

/// What is kept of what was said before a turn.
#[derive(Debug)]
pub(crate) struct Remember {
    pub(crate) name: String,
    pub(crate) regex: Regex,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Arguments,
    pub(crate) id: Option<Template>,
}

/// What a tool is called with.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// Values, whose texts may have placeholders.
    Values(Planted),
    /// Words that may be no JSON.
    Text(Template),
}

/// A value whose texts may have placeholders.
#[derive(Debug)]
pub(crate) enum Planted {
    Plain(Value),
    Text(Template),
    List(Vec<Planted>),
    Table(Vec<(String, Planted)>),
}

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) fault: Fault,
    pub(crate) times: Times,
}

/// How often something goes wrong in one turn of one session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Times {
    Always,
    First(u32),
}

/// What follows a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    Next,
    /// The same, for ever.
    Again,
}

impl Scenario {
    /// Returns the turn that comes after `said` answers, with its number; nothing after the last.
    pub(crate) fn turn(&self, said: usize) -> Option<(usize, &Turn)> {
        let last = self.turns.len().checked_sub(1)?;
        if said <= last {
            return self.turns.get(said).map(|turn| (said, turn));
        }
        let again = self.turns[last].after == After::Again;
        again.then(|| (last, &self.turns[last]))
    }
}

impl Planned {
    /// Returns what goes wrong at this attempt, counted from 1.
    pub(crate) fn strikes(self, attempt: u32) -> Option<Fault> {
        match self.times {
            Times::Always => Some(self.fault),
            Times::First(times) => (attempt <= times).then_some(self.fault),
        }
    }
}
