//! `regatta models`: lists the models that can be used, and why the others cannot.

use std::collections::BTreeMap;
use std::io;

use config::DataPaths;
use globset::GlobBuilder;
use protocol::ExitCode;
use providers::{ModelFacts, Price, known_providers};
use serde::Serialize;

use super::context::{Output as _, print_json, say};
use super::models_refresh;
use crate::args::{Form, Globals, ListedModels, ModelsArgs, ModelsCommand, Verbosity};
use crate::process;
use crate::render::{OutputWidth, one_line, width};
use regatta::error::Error;
use regatta::model::{KeyPlace, ListedModel, LocalSources, ModelDirectory, UserModels};

/// Lists models, or refreshes the facts about them.
///
/// # Errors
/// The facts cannot be fetched or stored.
pub async fn run(args: &ModelsArgs, globals: &Globals) -> Result<ExitCode, Error> {
    let places = DataPaths::of_this_process()?;
    if let Some(ModelsCommand::Refresh { from }) = &args.command {
        return models_refresh::run(from.as_deref(), &places, globals).await;
    }
    let user = UserModels::new(&places);
    let directory = ModelDirectory::with_local(&user, LocalSources::All).await;
    let matches = matcher(args.pattern()?);
    let matching = directory.models().iter().filter(|model| matches(&model.to_string()));
    let matching = directory.each_once(matching.collect());
    let (listed, hidden): (Vec<&ListedModel>, Vec<_>) = matching
        .into_iter()
        .partition(|it| args.listed() == ListedModels::All || it.obstacle.is_none());
    match globals.form() {
        Form::Json => print_json(&mut io::stdout(), &document(&user, &listed))?,
        Form::Text => {
            let text = table(&listed, io::stdout().room());
            if !text.is_empty() {
                say(&mut io::stdout(), text.trim_end())?;
            }
            if globals.verbosity() != Verbosity::Quiet {
                for line in closing(&user, &listed, args, &hidden) {
                    process::notify(&one_line(&line));
                }
            }
        }
    }
    Ok(ExitCode::Success)
}

/// Returns whether a name is asked for.
fn matcher(pattern: Option<&str>) -> impl Fn(&str) -> bool {
    let pattern = pattern.unwrap_or_default().to_lowercase();
    let glob = GlobBuilder::new(&pattern).literal_separator(false).build();
    let glob =
        glob.ok().filter(|_| pattern.contains(['*', '?', '['])).map(|it| it.compile_matcher());
    move |name| {
        let name = name.to_lowercase();
        let id = name.split_once('/').map_or(name.as_str(), |(_, id)| id);
        glob.as_ref()
            .map_or(name.contains(&pattern), |glob| glob.is_match(&name) || glob.is_match(id))
    }
}

/// Returns the table. Prices are in US dollars per million tokens; what is not known is `?`. A name that is
/// too long for its column, and the reason why a model cannot be used, have lines of their own.
fn table(models: &[&ListedModel], room: OutputWidth) -> String {
    if models.is_empty() {
        return String::new();
    }
    let count = |count: Option<u64>| count.map_or_else(|| "?".to_owned(), short_count);
    let dollars = |price: Option<Price>, of: fn(&Price) -> f64| {
        price.map_or_else(|| "?".to_owned(), |price| format!("{}", of(&price)))
    };
    let flag = |flag: Option<bool>| match flag {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    };
    let head = ["model", "context", "output", "$ in", "$ out", "images", "thinks", ""];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(models.iter().map(|model| {
        let facts = &model.facts;
        [
            one_line(&model.to_string()),
            count(facts.context),
            count(facts.output),
            dollars(facts.price, |price| price.input.as_dollars()),
            dollars(facts.price, |price| price.output.as_dollars()),
            flag(facts.images).to_owned(),
            flag(facts.thinking).to_owned(),
            model.obstacle.as_ref().map(|it| one_line(&it.to_string())).unwrap_or_default(),
        ]
    }));
    let mut widths = [0; 8];
    for row in &rows {
        for (widest, cell) in widths.iter_mut().zip(row) {
            *widest = (*widest).max(width(cell));
        }
    }
    let mut text = String::new();
    if let OutputWidth::Columns(columns) = room {
        let numbers = widths[1..7].iter().map(|widest| 2 + widest).sum();
        widths[0] = widths[0].min(columns.saturating_sub(numbers)).max("model".len());
    }
    for mut row in rows {
        let mut line = String::new();
        if width(&row[0]) > widths[0] {
            text += &std::mem::take(&mut row[0]);
            text.push('\n');
        }
        let all = widths.iter().sum::<usize>() + 2 * (widths.len() - 1);
        let below = match room {
            OutputWidth::Columns(columns) if all > columns => std::mem::take(&mut row[7]),
            OutputWidth::Columns(_) | OutputWidth::Pipe => String::new(),
        };
        for (at, (cell, widest)) in row.iter().zip(widths).enumerate() {
            let space = " ".repeat(widest.saturating_sub(width(cell)));
            line += &match at {
                0 | 7 => format!("{cell}{space}  "),
                _ => format!("{space}{cell}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
        if !below.is_empty() {
            text += &format!("  {below}\n");
        }
    }
    text
}

/// Formats a number of tokens: `200k`, `1M`, `1.05M`.
fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{}k", count / 1_000),
        _ => {
            format!("{}.{:02}M", count / 1_000_000, count % 1_000_000 / 10_000).replace(".00M", "M")
        }
    }
}

/// Returns what is said after the table.
fn closing(
    user: &UserModels,
    listed: &[&ListedModel],
    args: &ModelsArgs,
    hidden: &[&ListedModel],
) -> Vec<String> {
    let mut lines: Vec<String> =
        user.notes().iter().map(|note| format!("warning: {note}")).collect();
    if listed.iter().any(|model| model.facts.price.is_some()) {
        let facts = user.facts();
        lines.push(format!(
            "prices in US dollars per million tokens; facts of {} ({})",
            facts.date, facts.source
        ));
    }
    if args.listed() == ListedModels::All {
        if listed.is_empty() {
            lines.push(no_match(args));
        }
        return lines;
    }
    let mut reasons: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for model in hidden {
        let why = model.obstacle.as_ref().map(ToString::to_string).unwrap_or_default();
        *reasons.entry((model.provider.as_str(), why)).or_default() += 1;
    }
    let count: usize = reasons.values().sum();
    if listed.is_empty() && count == 0 {
        lines.push(no_match(args));
    }
    if count > 0 {
        let which = match (listed.is_empty(), args.pattern()) {
            (false, _) => "more",
            (true, Ok(None)) => "models",
            (true, _) => "matching models",
        };
        lines.push(format!("{count} {which} cannot be used (--all lists them):"));
        let reasons = reasons.into_iter();
        lines.extend(
            reasons.map(|((provider, why), count)| format!("  {provider} ({count}): {why}")),
        );
    }
    lines
}

fn no_match(args: &ModelsArgs) -> String {
    let pattern = args.words.last().map_or_else(String::new, |pattern| one_line(pattern));
    format!("no model matches `{pattern}`; all of them: regatta models --all")
}

/// The JSON document of `regatta models --json`.
#[derive(Serialize)]
struct ModelsDocument<'a> {
    source: &'a str,
    date: &'a str,
    providers: Vec<ProviderRow>,
    models: Vec<ModelRow<'a>>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct ProviderRow {
    provider: String,
    /// Where the key is: `given`, `stored`, `environment`, `file`, `not_needed` or `missing`.
    key: &'static str,
    /// The name of the stored key or of the variable.
    name: Option<String>,
}

#[derive(Serialize)]
struct ModelRow<'a> {
    model: String,
    provider: &'a str,
    id: &'a str,
    usable: bool,
    why: Option<String>,
    facts: &'a ModelFacts,
    /// Whether there is a price for what is read from a cache.
    caching: Option<bool>,
}

fn document<'a>(user: &'a UserModels, listed: &[&'a ListedModel]) -> ModelsDocument<'a> {
    let facts = user.facts();
    let own = user.file().providers.keys().cloned();
    let mut names: Vec<String> = known_providers().map(|it| it.id.to_owned()).chain(own).collect();
    names.sort();
    names.dedup();
    let provider = |provider: String| {
        let (key, name) = match user.key_place(&provider) {
            KeyPlace::Given => ("given", None),
            KeyPlace::Stored(name) => ("stored", Some(name)),
            KeyPlace::Environment(variable) => ("environment", Some(variable)),
            KeyPlace::File => ("file", None),
            KeyPlace::NotNeeded => ("not_needed", None),
            KeyPlace::Missing(variable) => ("missing", Some(variable)),
        };
        ProviderRow { provider, key, name }
    };
    let model = |model: &&'a ListedModel| ModelRow {
        model: model.to_string(),
        provider: &model.provider,
        id: &model.id,
        usable: model.obstacle.is_none(),
        why: model.obstacle.as_ref().map(ToString::to_string),
        facts: &model.facts,
        caching: model.facts.caches(),
    };
    ModelsDocument {
        source: &facts.source,
        date: &facts.date,
        providers: names.into_iter().map(provider).collect(),
        models: listed.iter().map(model).collect(),
        warnings: user.notes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use regatta::model::Obstacle;

    #[test]
    fn a_table_has_what_is_known_and_says_what_is_not() {
        let text = r#"{ "context": 1050000, "output": 64000, "thinking": true, "price": { "input": 0.15, "output": 3 } }"#;
        let facts: ModelFacts = serde_json::from_str(text).unwrap();
        let known = ListedModel {
            provider: "acme".to_owned(),
            id: "big".to_owned(),
            facts,
            obstacle: Some(Obstacle::new("no key")),
        };
        let unknown = ListedModel {
            id: "x\u{1b}[2J".to_owned(),
            facts: ModelFacts::default(),
            obstacle: None,
            ..known.clone()
        };
        let text = table(&[&known, &unknown], OutputWidth::Pipe);
        let lines: Vec<_> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        assert_eq!(lines[1], "acme/big 1.05M 64k 0.15 3 ? yes no key");
        assert!(lines[2].ends_with("? ? ? ? ? ?") && !text.contains('\u{1b}'), "{text}");
        assert_eq!(table(&[], OutputWidth::Pipe), "");
        let price = r#"{ "price": { "input": 0.0375125, "output": 0.2995125 } }"#;
        let facts = serde_json::from_str(price).unwrap();
        let long = ListedModel { id: "long-name-".repeat(6), facts, ..known.clone() };
        let text = table(&[&long, &unknown], OutputWidth::Columns(80));
        assert!(text.lines().all(|line| width(line) <= 80), "{text}");
        assert!(text.contains("\n  no key\n"), "{text}");
        let (first, second) = (text.lines().nth(2).unwrap(), text.lines().nth(4).unwrap());
        assert_eq!(first.find('?'), second.find('?'));
    }

    #[test]
    fn a_pattern_is_a_part_of_a_name_or_a_glob() {
        let matches = |pattern: &str, name: &str| matcher(Some(pattern))(name);
        assert!(
            matches("OPUS", "anthropic/claude-opus-5")
                && matches("claude-*", "anthropic/claude-opus-5")
        );
        assert!(matches("anthropic/*", "anthropic/claude-opus-5") && matcher(None)("a/b"));
        assert!(
            !matches("opus-*", "anthropic/claude-opus-5")
                && !matches("gpt", "anthropic/claude-opus-5")
        );
    }
}
