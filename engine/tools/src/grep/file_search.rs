//! Searches files line by line, on a thread that may block.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use engine::ports::{CancelToken, FileVisitor, ViewError, ViewPath, VisitedFile};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use protocol::quote;

use crate::display::{PROBE, SCAN_BYTES, SEARCH_BYTES, SEARCH_COLUMNS, head, is_binary, visible};
use crate::error::ToolError;

/// The largest file in which matches may span lines, and the longest line that is searched otherwise.
const MULTILINE_BYTES: u64 = 16 << 20;
const LINE_BYTES: usize = 8 << 20;

/// The largest compiled expression, in bytes.
const EXPRESSION_BYTES: usize = 4 << 20;

/// How many lines of one match are shown.
const MATCH_LINES: usize = 50;

/// How to search lines.
pub(super) struct LineOptions {
    pub(super) pattern: String,
    pub(super) ignores_case: bool,
    pub(super) is_literal: bool,
    pub(super) spans_lines: bool,
    pub(super) context: usize,
}

/// A search for lines. Its time is linear in the length of the text, whatever the expression is.
#[derive(Clone)]
pub(super) struct LineSearch {
    matcher: RegexMatcher,
    spans_lines: bool,
    context: usize,
}

impl LineSearch {
    /// Compiles the expression.
    pub(super) fn new(options: &LineOptions) -> Result<Self, ToolError> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .case_insensitive(options.ignores_case)
            .fixed_strings(options.is_literal)
            .size_limit(EXPRESSION_BYTES)
            .dfa_size_limit(EXPRESSION_BYTES);
        if !options.spans_lines {
            builder.line_terminator(Some(b'\n'));
        }
        let matcher = builder.build(&options.pattern).map_err(|error| {
            // The error quotes what the matcher makes of the pattern.
            let error = error.to_string();
            let why = error.rsplit_once("error: ").map_or(error.as_str(), |(_, why)| why);
            let escapes =
                options.pattern.chars().rev().take_while(|letter| *letter == '\\').count();
            let why = if escapes % 2 == 1 { "`\\` at its end escapes nothing" } else { why };
            let pattern = quote(&options.pattern);
            ToolError::Arguments(format!(
                "/pattern: `{pattern}`: {why}. For a plain text, set \"literal\" to true"
            ))
        })?;
        let (spans_lines, context) = (options.spans_lines, options.context);
        Ok(Self { matcher, spans_lines, context })
    }

    fn searcher(&self) -> Searcher {
        let heap = match self.spans_lines {
            true => usize::try_from(MULTILINE_BYTES).unwrap_or(usize::MAX).saturating_add(1),
            false => LINE_BYTES,
        };
        SearcherBuilder::new()
            .line_number(true)
            .multi_line(self.spans_lines)
            .before_context(self.context)
            .after_context(self.context)
            .heap_limit(Some(heap))
            // What is binary is decided as `read` does it.
            .binary_detection(BinaryDetection::none())
            .build()
    }
}

/// Ends searches on other threads: when the call is cancelled or dropped.
pub(super) struct StopSearch {
    cancel: CancelToken,
    dropped: Arc<AtomicBool>,
}

/// What a search on another thread looks at.
#[derive(Clone)]
pub(super) struct StopFlag {
    cancel: CancelToken,
    dropped: Arc<AtomicBool>,
}

impl StopSearch {
    pub(super) fn new(cancel: CancelToken) -> Self {
        Self { cancel, dropped: Arc::default() }
    }

    pub(super) fn is_set(&self) -> bool {
        self.cancel.is_cancelled()
    }

    pub(super) fn flag(&self) -> StopFlag {
        StopFlag { cancel: self.cancel.clone(), dropped: Arc::clone(&self.dropped) }
    }
}

impl Drop for StopSearch {
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

impl StopFlag {
    fn is_set(&self) -> bool {
        self.dropped.load(Ordering::Relaxed) || self.cancel.is_cancelled()
    }
}

/// How many matches a job skips, and how many it shows.
#[derive(Clone, Copy)]
pub(super) struct JobLimits {
    pub(super) skip: u64,
    pub(super) show: u64,
}

/// What a job has found.
#[derive(Default)]
pub(super) struct Found {
    /// The files with matches, in their order.
    pub(super) files: Vec<FileLines>,
    /// The number of matches, also of those that are skipped.
    pub(super) matches: u64,
    /// Whether the job has ended before its last file.
    pub(super) is_full: bool,
    /// The numbers of files: searched, binary, too large, and those that cannot be read.
    pub(super) searched: u64,
    pub(super) binary: u64,
    pub(super) too_large: u64,
    pub(super) unreadable: u64,
    /// The error of the last file that cannot be read.
    pub(super) error: Option<ViewError>,
    /// Whether a line was shortened.
    pub(super) is_long: bool,
    bytes: usize,
}

/// The lines of a file that are shown.
pub(super) struct FileLines {
    pub(super) path: ViewPath,
    pub(super) lines: Vec<ShownLine>,
}

/// A line that is shown.
pub(super) struct ShownLine {
    pub(super) number: u64,
    pub(super) kind: LineKind,
    /// The number of its match in the job, counted from 1.
    pub(super) of: u64,
    pub(super) text: String,
}

/// Why a line is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Match,
    Context,
}

/// The result of a job, which is taken when it has ended.
pub(super) struct SharedFound(Arc<Mutex<Found>>);

impl SharedFound {
    pub(super) fn take(&self) -> Found {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The search of some files.
pub(super) struct SearchJob {
    search: LineSearch,
    limits: JobLimits,
    stop: StopFlag,
    found: Arc<Mutex<Found>>,
}

impl SearchJob {
    pub(super) fn new(search: &LineSearch, limits: JobLimits, stop: StopFlag) -> Self {
        Self { search: search.clone(), limits, stop, found: Arc::default() }
    }

    /// Returns how many bytes of each file are searched at most.
    pub(super) fn most_bytes(&self) -> u64 {
        SCAN_BYTES
    }

    pub(super) fn found(&self) -> SharedFound {
        SharedFound(Arc::clone(&self.found))
    }

    pub(super) fn into_visitor(self) -> FileVisitor {
        let mut searcher = self.search.searcher();
        Box::new(move |path, file| {
            if self.stop.is_set() {
                return ControlFlow::Break(());
            }
            let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
            match file {
                Ok(file) => self.search_file(&mut searcher, path, file, &mut found),
                // It was removed or replaced meanwhile.
                Err(ViewError::Missing | ViewError::Special | ViewError::Folder) => {}
                Err(error) => {
                    found.unreadable += 1;
                    found.error = Some(error);
                }
            }
            match found.is_full {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        path: &ViewPath,
        file: VisitedFile<'_>,
        found: &mut Found,
    ) {
        if self.search.spans_lines && file.stat.size > MULTILINE_BYTES {
            found.too_large += 1;
            return;
        }
        let mut content = Stoppable { content: file.content, stop: &self.stop };
        // In a buffer that has to grow, a small file would be read in many steps.
        let mut beginning = Vec::with_capacity(PROBE);
        let probed = (&mut content).take(PROBE as u64).read_to_end(&mut beginning);
        let is_utf_16 = beginning.starts_with(b"\xff\xfe") || beginning.starts_with(b"\xfe\xff");
        if is_binary(&beginning) && !is_utf_16 {
            found.binary += 1;
            return;
        }
        found.searched += 1;
        let mut lines = LineSink { found, limits: self.limits, lines: Vec::new() };
        let content = beginning.as_slice().chain(content);
        let searched = searcher.search_reader(&self.search.matcher, content, &mut lines);
        let searched = probed.and(searched);
        let LineSink { lines, .. } = lines;
        if searched.is_err() || file.stat.size > SCAN_BYTES {
            found.too_large += 1;
        }
        if !lines.is_empty() {
            found.files.push(FileLines { path: path.clone(), lines });
        }
    }
}

/// Reads a file until the search is stopped.
struct Stoppable<'a> {
    content: &'a mut dyn Read,
    stop: &'a StopFlag,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.stop.is_set() {
            true => Err(io::Error::other("the search was stopped")),
            false => self.content.read(into),
        }
    }
}

/// Collects the lines of a file.
struct LineSink<'a> {
    found: &'a mut Found,
    limits: JobLimits,
    lines: Vec<ShownLine>,
}

impl LineSink<'_> {
    /// Adds a line of the match with the number `of`, unless that is skipped.
    fn push(&mut self, number: Option<u64>, line: &[u8], of: u64, kind: LineKind) {
        if of <= self.limits.skip {
            return;
        }
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A character has at most four bytes.
        let text = String::from_utf8_lossy(&line[..line.len().min(4 * SEARCH_COLUMNS)]);
        let shown = head(&text, SEARCH_COLUMNS);
        self.found.is_long |= shown.len() < line.len();
        self.found.bytes += shown.len();
        let (number, text) = (number.unwrap_or_default(), visible(shown).into_owned());
        self.lines.push(ShownLine { number, kind, of, text });
    }
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let JobLimits { skip, show } = self.limits;
        if self.found.matches >= skip + show || self.found.bytes > SEARCH_BYTES {
            self.found.is_full = true;
            return Ok(false);
        }
        self.found.matches += 1;
        let of = self.found.matches;
        for (line, number) in found.lines().take(MATCH_LINES).zip(0..) {
            self.push(found.line_number().map(|first| first + number), line, of, LineKind::Match);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        let of = match found.kind() {
            SinkContextKind::Before => self.found.matches + 1,
            SinkContextKind::After | SinkContextKind::Other => self.found.matches,
        };
        self.push(found.line_number(), found.bytes(), of, LineKind::Context);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use engine::ports::{FileKind, FileStat, FileVersion};

    use super::*;

    /// A file that never ends. Reading it the third time stops the search.
    struct Endless(u8, Option<StopSearch>);

    impl Read for Endless {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            assert!(self.0 <= 3, "it is read on");
            if self.0 == 3 {
                self.1 = None;
            }
            into.fill(b'\n');
            Ok(into.len())
        }
    }

    #[test]
    fn a_search_that_nobody_waits_for_ends_within_a_file() {
        let options = LineOptions {
            pattern: "needle".to_owned(),
            ignores_case: false,
            is_literal: false,
            spans_lines: false,
            context: 0,
        };
        let search = LineSearch::new(&options).unwrap();
        let stop = StopSearch::new(CancelToken::default());
        let limits = JobLimits { skip: 0, show: 1 };
        let mut visit = SearchJob::new(&search, limits, stop.flag()).into_visitor();
        let stat = FileStat {
            kind: FileKind::Regular,
            size: 1,
            mode: 0o644,
            version: FileVersion([0; 5]),
        };
        let path = ViewPath::new(Path::new("a")).unwrap();
        let mut content = Endless(0, Some(stop));
        let file = VisitedFile { stat, content: &mut content };
        assert_eq!(visit(&path, Ok(file)), ControlFlow::Continue(()));
        let mut none = io::empty();
        let next = VisitedFile { stat, content: &mut none };
        assert_eq!(visit(&path, Ok(next)), ControlFlow::Break(()));
    }
}
