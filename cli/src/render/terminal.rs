//! The terminal: its size, capabilities and colours, and the display that the options select.

use std::io::IsTerminal;

use jiff::tz::TimeZone;

use super::folded_lines::most_listed;
use crate::args::{ColorWhen, Form, Globals, ProgressStyle, Verbosity};

/// The output options of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputOptions {
    /// `--progress`.
    pub progress: ProgressStyle,
    /// `--color`.
    pub color: ColorWhen,
    /// `-q`, `-v`.
    pub verbosity: Verbosity,
    /// `--json`.
    pub form: Form,
}

impl From<&Globals> for OutputOptions {
    fn from(globals: &Globals) -> Self {
        let (progress, color) = (globals.progress, globals.color);
        Self { progress, color, verbosity: globals.verbosity(), form: globals.form() }
    }
}

/// The terminals of standard output and standard error.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Returns the size of the terminal; `None` if standard output is not a terminal.
    pub stdout: Option<fn() -> Size>,
    /// Returns the size of the terminal; `None` if standard error is not a terminal.
    pub stderr: Option<fn() -> Size>,
    /// What the terminal can do.
    pub capability: TermCapability,
    /// Whether `NO_COLOR` is set.
    pub color_env: ColorEnv,
}

/// What a terminal can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermCapability {
    /// The terminal can move its cursor and show colours.
    Able,
    /// The terminal can only print: `TERM` is `dumb` or missing.
    Dumb,
}

/// Whether the environment turns colours off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorEnv {
    /// `NO_COLOR` is not set.
    Silent,
    /// `NO_COLOR` is set and turns colours off.
    Refused,
}

impl Terminal {
    /// Returns the terminals of this process.
    #[must_use]
    pub fn here() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        let terminal = |is_terminal: bool, size: fn() -> Size| is_terminal.then_some(size);
        Self {
            stdout: terminal(std::io::stdout().is_terminal(), stdout_size),
            stderr: terminal(std::io::stderr().is_terminal(), stderr_size),
            capability: if dumb { TermCapability::Dumb } else { TermCapability::Able },
            color_env: if set("NO_COLOR").is_some() { ColorEnv::Refused } else { ColorEnv::Silent },
        }
    }
}

impl Terminal {
    /// Returns the maximum length of a line of standard output.
    #[must_use]
    pub fn stdout_room(&self) -> OutputWidth {
        OutputWidth::of(self.stdout)
    }

    /// Returns the maximum length of a line of standard error.
    #[must_use]
    pub fn stderr_room(&self) -> OutputWidth {
        OutputWidth::of(self.stderr)
    }
}

/// Returns the size of the terminal on standard error.
pub(super) fn stderr_size() -> Size {
    size(rustix::termios::tcgetwinsize(std::io::stderr()))
}

fn stdout_size() -> Size {
    size(rustix::termios::tcgetwinsize(std::io::stdout()))
}

/// Returns the size of a terminal; 80 by 24 if it is unknown.
fn size(found: rustix::io::Result<rustix::termios::Winsize>) -> Size {
    let (rows, columns) = found.map_or((0, 0), |size| (size.ws_row, size.ws_col));
    let known = |found: u16, usual: usize| if found == 0 { usual } else { found.into() };
    Size { columns: known(columns, 80), rows: known(rows, 24) }
}

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgressMode {
    Live,
    Plain,
    Silent,
}

/// How progress and results are displayed.
#[derive(Clone, Debug)]
pub struct View {
    pub(super) progress: ProgressMode,
    /// The colours of standard output.
    pub palette: Palette,
    pub(super) progress_palette: Palette,
    /// The size of the terminal on standard output; `None` if standard output is not a terminal.
    pub(super) stdout: Option<fn() -> Size>,
    /// The size of the terminal on standard error; `None` if standard error is not a terminal.
    pub(super) stderr: Option<fn() -> Size>,
    /// How much is printed.
    pub verbosity: Verbosity,
    /// The format of standard output.
    pub form: Form,
    /// The time zone of printed times.
    pub zone: TimeZone,
}

impl View {
    /// Returns the view for the options and the terminals of this process.
    #[must_use]
    pub fn here(globals: &Globals) -> Self {
        Self::of(globals.into(), Terminal::here())
    }

    /// Returns the view for these options and terminals.
    #[must_use]
    pub fn of(options: OutputOptions, terminal: Terminal) -> Self {
        let able = terminal.stderr.is_some() && terminal.capability == TermCapability::Able;
        let progress = match (options.verbosity, options.progress, options.form) {
            (Verbosity::Quiet, ..) | (_, ProgressStyle::None, _) => ProgressMode::Silent,
            // A live view needs a terminal. Without one, progress is printed as lines.
            (_, ProgressStyle::Live, _) if able => ProgressMode::Live,
            (_, ProgressStyle::Live | ProgressStyle::Plain, _) => ProgressMode::Plain,
            // The events on standard output contain the progress already.
            (_, ProgressStyle::Auto, Form::Json) => ProgressMode::Silent,
            (_, ProgressStyle::Auto, Form::Text) if able => ProgressMode::Live,
            (_, ProgressStyle::Auto, Form::Text) => ProgressMode::Plain,
        };
        let palette =
            |is_terminal: bool| match (options.color, terminal.color_env, terminal.capability) {
                (ColorWhen::Always, ..) => Palette::Colour,
                (ColorWhen::Auto, ColorEnv::Silent, TermCapability::Able) if is_terminal => {
                    Palette::Colour
                }
                (ColorWhen::Auto | ColorWhen::Never, ..) => Palette::Plain,
            };
        Self {
            progress,
            palette: palette(terminal.stdout.is_some()),
            progress_palette: palette(terminal.stderr.is_some()),
            stdout: terminal.stdout,
            stderr: terminal.stderr,
            verbosity: options.verbosity,
            form: options.form,
            zone: TimeZone::system(),
        }
    }

    /// Returns the maximum length of a line of standard output at this moment. A terminal may have
    /// been resized since the program started.
    #[must_use]
    pub fn room(&self) -> OutputWidth {
        OutputWidth::of(self.stdout)
    }

    /// Returns the maximum length of a line of standard error at this moment.
    pub(super) fn stderr_room(&self) -> OutputWidth {
        OutputWidth::of(self.stderr)
    }

    /// Returns how many lines that say the same are listed.
    #[must_use]
    pub fn most_listed(&self) -> usize {
        most_listed(self.verbosity)
    }

    /// Returns the number of lines of the terminal on standard output at this moment, if there is a
    /// terminal.
    #[must_use]
    pub fn height(&self) -> Option<usize> {
        self.stdout.map(|size| size().rows)
    }
}

/// The size of a terminal in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub rows: usize,
}

/// The maximum length of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputWidth {
    /// As many columns as a terminal has.
    Columns(usize),
    /// No limit for lines; only very long notes are cut.
    Pipe,
}

impl OutputWidth {
    /// The longest note on a pipe, in columns.
    const LONGEST: usize = 300;

    /// Returns the width of a terminal, if there is one.
    fn of(terminal: Option<fn() -> Size>) -> Self {
        terminal.map_or(Self::Pipe, |size| Self::Columns(size().columns))
    }

    /// Returns how many columns are left after `used` ones; at least 24.
    pub fn behind(self, used: usize) -> usize {
        match self {
            Self::Columns(columns) => columns.saturating_sub(used).max(24),
            Self::Pipe => Self::LONGEST,
        }
    }
}

/// Whether output is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Output has the terminal's own colours.
    Colour,
    /// Output has no colours.
    Plain,
}

/// The meaning of a text, which has a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// Landed, added: green.
    Good,
    /// Kept, for a person to look at: yellow.
    Kept,
    /// Failed, removed: red.
    Bad,
    /// A heading: bold.
    Heading,
    /// A place inside a file: cyan.
    Place,
    /// Less important: faint.
    Aside,
    /// Without special meaning: not coloured.
    Neutral,
}

impl Palette {
    /// Returns `text` in the colour of its meaning. The text must be printable.
    #[must_use]
    pub fn paint(self, meaning: Meaning, text: &str) -> String {
        let code = match meaning {
            Meaning::Good => "32",
            Meaning::Kept => "33",
            Meaning::Bad => "31",
            Meaning::Heading => "1",
            Meaning::Place => "36",
            Meaning::Aside => "2",
            Meaning::Neutral => return text.to_owned(),
        };
        match self {
            Self::Colour if !text.is_empty() => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            Self::Colour | Self::Plain => text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMINAL: Terminal = Terminal {
        stdout: Some(|| Size { columns: 100, rows: 30 }),
        stderr: Some(|| Size { columns: 100, rows: 30 }),
        capability: TermCapability::Able,
        color_env: ColorEnv::Silent,
    };

    fn progress(options: OutputOptions, terminal: Terminal) -> ProgressMode {
        View::of(options, terminal).progress
    }

    #[test]
    fn the_live_view_is_for_terminals_only() {
        let pipe = Terminal { stderr: None, ..TERMINAL };
        let dumb = Terminal { capability: TermCapability::Dumb, ..TERMINAL };
        let options = OutputOptions::from(&Globals::default());
        let live = OutputOptions { progress: ProgressStyle::Live, ..options };
        let quiet = OutputOptions { verbosity: Verbosity::Quiet, ..live };
        let json = OutputOptions { form: Form::Json, ..options };
        assert_eq!(progress(options, TERMINAL), ProgressMode::Live);
        assert_eq!(progress(options, pipe), ProgressMode::Plain);
        assert_eq!(progress(live, pipe), ProgressMode::Plain);
        assert_eq!(progress(live, dumb), ProgressMode::Plain);
        assert_eq!(progress(quiet, TERMINAL), ProgressMode::Silent);
        assert_eq!(progress(json, TERMINAL), ProgressMode::Silent);
        assert_eq!(progress(json, pipe), ProgressMode::Silent);
    }

    #[test]
    fn colours_are_for_those_who_want_them() {
        let palette = |color, terminal| {
            View::of(OutputOptions { color, ..OutputOptions::from(&Globals::default()) }, terminal)
                .palette
        };
        let refused = Terminal { color_env: ColorEnv::Refused, ..TERMINAL };
        let dumb = Terminal { capability: TermCapability::Dumb, ..TERMINAL };
        let pipe = Terminal { stdout: None, ..TERMINAL };
        assert_eq!(palette(ColorWhen::Auto, TERMINAL), Palette::Colour);
        assert_eq!(palette(ColorWhen::Never, TERMINAL), Palette::Plain);
        for terminal in [refused, dumb, pipe] {
            assert_eq!(palette(ColorWhen::Auto, terminal), Palette::Plain);
            assert_eq!(palette(ColorWhen::Always, terminal), Palette::Colour);
        }
    }

    #[test]
    fn without_a_palette_text_stays_as_it_is() {
        assert_eq!(Palette::Plain.paint(Meaning::Bad, "failed"), "failed");
        assert_eq!(Palette::Colour.paint(Meaning::Bad, "failed"), "\u{1b}[31mfailed\u{1b}[0m");
        assert_eq!(Palette::Colour.paint(Meaning::Neutral, "x"), "x");
    }
}
