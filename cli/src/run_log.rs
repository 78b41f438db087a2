//! The log file of a run: everything that the engine traces.

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal as _, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

/// The log of a run. Nothing is written before the run has a name.
#[derive(Clone, Debug, Default)]
pub struct Log(Arc<OnceLock<File>>);

impl Log {
    /// Installs the subscriber of traces: `info` and above go to the run's log, and what `RUST_LOG`
    /// selects goes to standard error, too.
    #[must_use]
    pub fn install() -> Self {
        let log = Self::default();
        let asked = std::env::var_os("RUST_LOG").is_some_and(|filter| !filter.is_empty());
        let file = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_span_events(FmtSpan::NEW | FmtSpan::CLOSE)
            .with_writer(log.clone())
            .with_filter(
                EnvFilter::try_from_default_env()
                    .unwrap_or_else(|_| EnvFilter::new("info,ractor=warn,rmcp=off")),
            );
        let stderr = asked.then(|| {
            let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            tracing_subscriber::fmt::layer()
                .with_ansi(io::stderr().is_terminal() && !plain)
                .with_writer(io::stderr)
                .with_filter(EnvFilter::from_default_env())
        });
        // If a subscriber is installed already, it stays in use.
        let _theirs = tracing_subscriber::registry().with(file).with(stderr).try_init();
        log.take_panics();
        log
    }

    /// Installs a panic hook. After the log is opened, the hook writes panics to the log only,
    /// because the supervisor of the actor reports them to the user. Before that, panics are
    /// printed as usual.
    fn take_panics(&self) {
        let (log, default) = (self.clone(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |panic| {
            if log.0.get().is_none() {
                return default(panic);
            }
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            let words = panic.payload_as_str().unwrap_or("without words");
            let trace = std::backtrace::Backtrace::capture();
            tracing::error!(place, words, %trace, "a panic");
        }));
    }

    /// Opens the log of a run. If that fails, the run goes on without a log.
    pub fn begin(&self, file: &Path) {
        let opened = file
            .parent()
            .map_or(Ok(()), config::make_private)
            .and_then(|()| OpenOptions::new().create(true).append(true).mode(0o600).open(file));
        match opened {
            Ok(opened) => {
                let _begun_before = self.0.set(opened);
            }
            Err(error) => {
                tracing::warn!(%error, file = %file.display(), "the log cannot be written")
            }
        }
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Line<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        Line(self.0.get())
    }
}

/// The writer of one line of the log.
pub struct Line<'a>(Option<&'a File>);

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0 {
            Some(mut file) => file.write(bytes),
            None => Ok(bytes.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
