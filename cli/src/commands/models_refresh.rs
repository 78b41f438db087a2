//! `regatta models refresh`: brings newer facts about models into the data folder.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use config::{DataPaths, make_private};
use jiff::Timestamp;
use protocol::ExitCode;
use providers::{LARGEST_DOCUMENT, Refreshed, fetch_document, parse_models_dev};
use serde_json::json;

use super::context::print_json;
use crate::args::{Form, Globals};
use crate::process;
use crate::render::{count, one_line};
use regatta::error::{Error, ErrorKind};

/// Where the facts are fetched from unless the user says otherwise.
const USUAL: &str = "https://models.dev/api.json";

/// Fetches or reads facts, and stores them. What was stored stays if that fails.
///
/// # Errors
/// There is no such document, it is not what it should be, or it cannot be stored.
pub(super) async fn run(
    from: Option<&str>,
    places: &DataPaths,
    globals: &Globals,
) -> Result<ExitCode, Error> {
    let from = from.unwrap_or(USUAL);
    let refused = |why: String| {
        let what = format!("cannot take facts about models from {}", one_line(from));
        Error::new(ErrorKind::Model, what).because(why)
    };
    let (bytes, day) = match from.contains("://") {
        true => {
            let fetched = fetch_document(from).await;
            let fetched = fetched.map_err(|why| {
                refused(why).hint("regatta models refresh --from FILE (a downloaded file)")
            })?;
            (fetched, today())
        }
        false => read(Path::new(from)).map_err(refused)?,
    };
    let Refreshed { table, models, left_out } = parse_models_dev(&bytes, &source(from), &day)
        .map_err(|error| {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let error = refused(error.to_string());
            cause.into_iter().fold(error, Error::because)
        })?;
    let file = places.model_facts();
    let text = serde_json::to_vec(&table).map_err(|error| {
        Error::new(ErrorKind::Bug, "cannot write the facts about models").caused_by(&error)
    })?;
    replace(&file, &text).map_err(|error| {
        let what = format!("cannot write {}", file.display());
        Error::new(ErrorKind::Machine, what).caused_by(&error)
    })?;
    let providers = table.providers.len();
    match globals.form() {
        Form::Json => {
            let document = json!({
                "file": file.display().to_string(), "from": from, "date": day,
                "providers": providers, "models": models, "left_out": left_out,
            });
            print_json(&mut io::stdout(), &document)?;
        }
        Form::Text => {
            let out = match left_out {
                0 => String::new(),
                1 => "; 1 invalid entry was skipped".to_owned(),
                _ => format!("; {left_out} invalid entries were skipped"),
            };
            let line = format!(
                "{} of {}, in {}{out}",
                count(models, "model"),
                count(providers, "provider"),
                file.display()
            );
            process::print(&format!("{}\n", one_line(&line)))?;
        }
    }
    Ok(ExitCode::Success)
}

/// Returns how the origin of the facts is called: without the query of a URL.
fn source(from: &str) -> String {
    let name = from.split(['?', '#']).next().unwrap_or(from);
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(200).collect();
    if name.is_empty() { "a file".to_owned() } else { name }
}

fn today() -> String {
    day_of(Timestamp::now())
}

fn day_of(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

/// Reads a file, with the day on which it was written.
fn read(path: &Path) -> Result<(Vec<u8>, String), String> {
    let meta = fs::metadata(path).map_err(|error| without_code(&error))?;
    if !meta.is_file() {
        return Err("it is not a file".to_owned());
    }
    let limit = u64::try_from(LARGEST_DOCUMENT).unwrap_or(u64::MAX);
    let file = fs::File::open(path).map_err(|error| without_code(&error))?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| without_code(&error))?;
    if bytes.len() > LARGEST_DOCUMENT {
        return Err(format!("it is larger than {} MiB", limit >> 20));
    }
    let written = meta.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    Ok((bytes, written.map_or_else(today, day_of)))
}

fn without_code(error: &io::Error) -> String {
    regatta::error::without_os_code(&error.to_string())
}

/// Puts a new file into the place of `file` at once.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    make_private(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    new.persist(file).map_err(|error| error.error)?;
    Ok(())
}
