//! The JSON document of one run with its tasks. The tasks are read while they are written, because
//! each brings along what it yielded.

use std::cell::RefCell;
use std::io::{BufWriter, Write as _};

use engine::ports::LedgerError;
use serde::ser::{Error as _, SerializeSeq as _};
use serde::{Serialize, Serializer};
use store::{Reader, RunRow};

use super::context::{CommandContext, Out};
use regatta::error::{Error, ErrorKind};
use regatta::runs::Located;

/// How many tasks are read at a time.
const PAGE: usize = 16;

/// The document.
#[derive(Serialize)]
struct RunDocument<'a> {
    run: &'a RunRow,
    tasks: Tasks<'a>,
}

/// The tasks of the document: all tasks of the run, or one.
struct Tasks<'a> {
    reader: &'a Reader,
    located: &'a Located,
    /// Why the tasks could not be read.
    failure: RefCell<Option<LedgerError>>,
}

impl Serialize for Tasks<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tasks = serializer.serialize_seq(None)?;
        if let Some(task) = &self.located.task {
            tasks.serialize_element(task)?;
            return tasks.end();
        }
        let mut read = 0;
        loop {
            let page = self.reader.page_of_tasks(self.located.run.id, read, PAGE);
            let page = page.map_err(|error| {
                self.failure.replace(Some(error));
                S::Error::custom("the ledger cannot be read")
            })?;
            if page.is_empty() {
                return tasks.end();
            }
            read += page.len();
            page.iter().try_for_each(|task| tasks.serialize_element(task))?;
        }
    }
}

/// Prints the document of a run, or of a run with only one of its tasks.
///
/// # Errors
/// The ledger cannot be read, or `out` cannot be written.
pub(super) fn print_run(
    context: &CommandContext,
    located: &Located,
    out: Out<'_>,
) -> Result<(), Error> {
    let mut out = BufWriter::new(out);
    let tasks = Tasks { reader: &context.runs.reader, located, failure: RefCell::default() };
    let document = RunDocument { run: &located.run, tasks };
    let written = serde_json::to_writer_pretty(&mut out, &document);
    if let Some(failure) = document.tasks.failure.take() {
        return Err(failure.into());
    }
    match written {
        Ok(()) => {}
        Err(error) if error.is_io() => return Err(Error::output(&error.into())),
        Err(error) => {
            let what = "cannot write the result as JSON";
            return Err(Error::new(ErrorKind::Bug, what).caused_by(&error));
        }
    }
    writeln!(out).and_then(|()| out.flush()).map_err(|error| Error::output(&error))
}
