//! Parses a scenario file, and reports mistakes in it with line and column before a model plays it.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use protocol::Usage;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use toml::Spanned;

use super::scenario::{
    AfterTurn, Arguments, Call, PlannedFault, Remember, Scenario, Script, Times, Turn,
    ValueTemplate,
};
use super::scenario::{CallTable, Fault, FileTable, ScenarioTable, TurnTable};
use super::template::{Template, is_name};
use crate::usage::UNPRICED;

/// The maximum memory of one compiled regular expression, in bytes.
const LARGEST_REGEX: usize = 1 << 20;

/// A mistake in a scenario file, with its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub(crate) struct ScriptError {
    line: usize,
    column: usize,
    what: String,
}

/// Parses a scenario file.
pub(crate) fn parse(text: &str) -> Result<Script, ScriptError> {
    let file: FileTable = toml::from_str(text).map_err(|error| {
        let message = error.message().trim_end();
        let what = match message.rsplit_once("expected ") {
            // The message of the TOML parser names Rust types, which users do not know.
            Some((before, "i64" | "u64" | "u32")) => format!("{before}expected a whole number"),
            Some((before, "a sequence")) => format!("{before}expected a list"),
            Some((before, "a map")) => format!("{before}expected a table"),
            Some(_) | None => message.to_owned(),
        };
        at(text, error.span().unwrap_or_default(), what)
    })?;
    Checker { text }.script(file)
}

struct Checker<'a> {
    text: &'a str,
}

impl Checker<'_> {
    fn script(&self, file: FileTable) -> Result<Script, ScriptError> {
        if *file.version.get_ref() != 1 {
            return Err(self.wrong(&file.version, "this is read as version = 1 only"));
        }
        let mut scenarios = Vec::new();
        if let Some(turn) = file.turns.first() {
            if !file.scenarios.is_empty() {
                let what = "a file has either [[turn]] or [[scenario]], with [[scenario.turn]]";
                return Err(self.wrong(turn, what));
            }
            let all = ScenarioTable { when: None, turns: file.turns };
            scenarios.push(Arc::new(self.scenario(all)?));
        }
        for scenario in file.scenarios {
            if scenario.get_ref().turns.is_empty() {
                return Err(self.wrong(&scenario, "a scenario needs a [[scenario.turn]]"));
            }
            scenarios.push(Arc::new(self.scenario(scenario.into_inner())?));
        }
        if scenarios.is_empty() {
            return Err(at(self.text, 0..0, "there is no [[scenario]] and no [[turn]]".to_owned()));
        }
        Ok(Script { scenarios })
    }

    fn scenario(&self, table: ScenarioTable) -> Result<Scenario, ScriptError> {
        let when = table.when.as_ref().map(|when| self.regex(when)).transpose()?;
        let mut known = BTreeSet::new();
        let mut turns = Vec::with_capacity(table.turns.len());
        let last = table.turns.len().saturating_sub(1);
        for (number, turn) in table.turns.into_iter().enumerate() {
            if let Some(repeat) = turn.get_ref().repeat.as_ref().filter(|_| number < last) {
                return Err(self.wrong(repeat, "only the last turn can be repeated"));
            }
            turns.push(self.turn(turn, &mut known)?);
        }
        Ok(Scenario { when, turns })
    }

    fn turn(
        &self,
        turn: Spanned<TurnTable>,
        known: &mut BTreeSet<String>,
    ) -> Result<Turn, ScriptError> {
        let span = turn.span();
        let table = turn.into_inner();
        let mut remember = Vec::new();
        for (name, regex) in &table.remember {
            remember.push(self.remember(name, regex)?);
            known.insert(name.get_ref().clone());
        }
        let template = |text: &Option<Spanned<String>>| {
            text.as_ref().map(|text| self.template(text.get_ref(), text.span(), known)).transpose()
        };
        let (thinking, text) = (template(&table.thinking)?, template(&table.text)?);
        let mut calls = Vec::with_capacity(table.calls.len());
        for call in table.calls {
            calls.push(self.call(call, known)?);
        }
        if let Some(times) = table.times.as_ref().filter(|_| table.fault.is_none()) {
            return Err(self.wrong(times, "`times` says how often a `fault` strikes"));
        }
        let empty = text.is_none() && calls.is_empty() && table.fault.is_none();
        if empty && thinking.is_some() {
            let what = "a turn that thinks has to say or call something (or text = \"\")";
            return Err(at(self.text, span, what.to_owned()));
        }
        Ok(Turn {
            remember,
            thinking,
            text,
            calls,
            delay: self.duration(table.delay.as_ref())?,
            pace: self.duration(table.pace.as_ref())?,
            usage: table.usage.map(|it| Usage {
                input: it.input,
                output: it.output,
                cache_read: it.cache_read,
                cache_write: it.cache_write,
                ..UNPRICED
            }),
            fault: table.fault.map(|fault| planned(fault, table.times.map(Spanned::into_inner))),
            after: match table.repeat.map(Spanned::into_inner) {
                Some(true) => AfterTurn::Repeat,
                Some(false) | None => AfterTurn::Next,
            },
        })
    }

    fn remember(
        &self,
        name: &Spanned<String>,
        regex: &Spanned<String>,
    ) -> Result<Remember, ScriptError> {
        if !is_name(name.get_ref()) {
            let what = "a name of what is remembered has letters, digits and `_` only";
            return Err(self.wrong(name, what));
        }
        let compiled = self.regex(regex)?;
        if compiled.captures_len() < 2 {
            let what = "a group has to say what is remembered, as in 'ticket: (\\w+)'";
            return Err(self.wrong(regex, what));
        }
        Ok(Remember { name: name.get_ref().clone(), regex: compiled })
    }

    fn call(
        &self,
        call: Spanned<CallTable>,
        known: &BTreeSet<String>,
    ) -> Result<Call, ScriptError> {
        let span = call.span();
        let table = call.into_inner();
        let arguments = match (table.arguments, table.arguments_text) {
            (Some(_), Some(text)) => {
                let what = "a call has `arguments` or `arguments_text`, not both";
                return Err(self.wrong(&text, what));
            }
            (None, Some(text)) => {
                Arguments::Text(self.template(text.get_ref(), text.span(), known)?)
            }
            (table, None) => {
                let table = toml::Value::Table(table.unwrap_or_default());
                Arguments::Values(self.value(table, &span, known)?)
            }
        };
        let id = table.id.as_ref();
        let id = id.map(|id| self.template(id.get_ref(), id.span(), known)).transpose()?;
        Ok(Call { tool: table.tool, arguments, id })
    }

    fn value(
        &self,
        value: toml::Value,
        span: &Range<usize>,
        known: &BTreeSet<String>,
    ) -> Result<ValueTemplate, ScriptError> {
        Ok(match value {
            toml::Value::String(text) => {
                ValueTemplate::Text(self.template(&text, span.clone(), known)?)
            }
            toml::Value::Integer(number) => ValueTemplate::Plain(number.into()),
            toml::Value::Float(number) => ValueTemplate::Plain(number.into()),
            toml::Value::Boolean(truth) => ValueTemplate::Plain(truth.into()),
            toml::Value::Datetime(time) => ValueTemplate::Plain(time.to_string().into()),
            toml::Value::Array(list) => {
                let list = list.into_iter().map(|value| self.value(value, span, known));
                ValueTemplate::List(list.collect::<Result<_, _>>()?)
            }
            toml::Value::Table(table) => {
                let member = |(key, value)| Ok((key, self.value(value, span, known)?));
                ValueTemplate::Table(table.into_iter().map(member).collect::<Result<_, _>>()?)
            }
        })
    }

    fn template(
        &self,
        text: &str,
        span: Range<usize>,
        known: &BTreeSet<String>,
    ) -> Result<Template, ScriptError> {
        let template = Template::parse(text);
        let template = template.map_err(|error| at(self.text, span.clone(), error.to_string()))?;
        if let Some(name) = template.names().find(|name| !known.contains(*name)) {
            let what = format!("nothing is remembered as `{name}` in this turn or an earlier one");
            return Err(at(self.text, span, what));
        }
        Ok(template)
    }

    fn regex(&self, regex: &Spanned<String>) -> Result<Regex, ScriptError> {
        let built = RegexBuilder::new(regex.get_ref()).size_limit(LARGEST_REGEX).build();
        built.map_err(|error| {
            let last = error.to_string();
            let last = last.lines().last().unwrap_or_default().trim_start_matches("error: ");
            self.wrong(regex, &format!("this is not a regular expression: {last}"))
        })
    }

    fn duration(&self, text: Option<&Spanned<String>>) -> Result<Duration, ScriptError> {
        let Some(text) = text else { return Ok(Duration::ZERO) };
        let what = "this is not a duration; write it as 200ms, 5s or 2m";
        duration(text.get_ref()).ok_or_else(|| self.wrong(text, what))
    }

    fn wrong<T>(&self, place: &Spanned<T>, what: &str) -> ScriptError {
        at(self.text, place.span(), what.to_owned())
    }
}

fn planned(fault: Fault, times: Option<u32>) -> PlannedFault {
    PlannedFault { fault, times: times.map_or(Times::Always, Times::First) }
}

fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit())?;
    let number: u32 = text[..digits].parse().ok()?;
    let unit = match &text[digits..] {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" => Duration::from_secs(60),
        _ => return None,
    };
    Some(unit * number)
}

fn at(text: &str, span: Range<usize>, what: String) -> ScriptError {
    let before = &text[..text.floor_char_boundary(span.start)];
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    ScriptError { line, column, what }
}

impl ValueTemplate {
    /// Returns the value with its placeholders replaced.
    pub(crate) fn fill(&self, text: &dyn Fn(&Template) -> String) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::Text(template) => text(template).into(),
            Self::List(list) => list.iter().map(|one| one.fill(text)).collect(),
            Self::Table(table) => {
                let fields = table.iter().map(|(key, one)| (key.clone(), one.fill(text)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }
}

#[cfg(test)]
mod tests;
