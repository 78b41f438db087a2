//! Renders markdown as lines for a terminal.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use self::table::Table;
use super::highlight::Syntaxes;
use super::wrap::{span, wrapped};
use crate::render::{visible_text, width};

/// How deep a block may be nested and still be indented.
const DEEPEST: usize = 12;

pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const CODE: Style = Style::new().fg(Color::Cyan);

/// Returns the options with which answers are parsed.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Renders `source` in lines of at most `columns` columns. An ordered list at its beginning begins
/// with `number`, if one is given.
pub(super) fn markdown(
    source: &str,
    number: Option<u64>,
    columns: usize,
    syntaxes: &Syntaxes,
) -> Vec<Line<'static>> {
    let mut renderer = Renderer {
        columns,
        syntaxes,
        number,
        lines: Vec::new(),
        inline: Vec::new(),
        styles: vec![Style::new()],
        containers: Vec::new(),
        lists: Vec::new(),
        gap: false,
        table: None,
        code: None,
        link: None,
    };
    // Escape sequences would be cut in pieces by what is markdown in them.
    let source = visible_text(source);
    for event in Parser::new_ext(&source, options()) {
        renderer.event(event);
    }
    renderer.flush();
    renderer.lines
}

struct Renderer<'a> {
    columns: usize,
    syntaxes: &'a Syntaxes,
    number: Option<u64>,
    lines: Vec<Line<'static>>,
    /// The text of the block that is being read.
    inline: Vec<Span<'static>>,
    styles: Vec<Style>,
    /// What each line begins with, the outermost first.
    containers: Vec<Container>,
    /// The next number of each open list; `None` for one with bullets.
    lists: Vec<Option<u64>>,
    /// Whether an empty line comes before the next block.
    gap: bool,
    table: Option<Table>,
    /// The language and the text of the block of code that is being read.
    code: Option<(String, String)>,
    /// The target of the link that is being read, and its text so far.
    link: Option<(String, String)>,
}

enum Container {
    Quote,
    /// An item, with its marker until that is printed.
    Item {
        marker: Option<String>,
        width: usize,
    },
}

impl Renderer<'_> {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text(&text, Style::new()),
            },
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text, CODE);
            }
            Event::Html(text) | Event::InlineHtml(text) => self.html(&text),
            Event::SoftBreak => self.text(" ", Style::new()),
            Event::HardBreak => self.inline.push(Span::raw("\n")),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.columns.min(40));
                self.inline.push(Span::styled(rule, DIM));
                self.flush();
                self.gap = true;
            }
            Event::TaskListMarker(done) => {
                self.text(if done { "[x] " } else { "[ ] " }, Style::new());
            }
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), Style::new()),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        let style = self.style();
        match tag {
            Tag::Paragraph => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let heading = style.add_modifier(Modifier::BOLD);
                let is_large = matches!(level, HeadingLevel::H1 | HeadingLevel::H2);
                self.styles.push(if is_large { heading.fg(Color::Cyan) } else { heading });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.containers.push(Container::Quote);
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(language) => language.into_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                self.begin_block();
                let number = self.number.take().filter(|_| self.lists.is_empty());
                self.lists.push(first.map(|first| number.unwrap_or(first)));
            }
            Tag::Item => self.begin_item(),
            Tag::Emphasis => self.styles.push(style.add_modifier(Modifier::ITALIC)),
            Tag::Strong => self.styles.push(style.add_modifier(Modifier::BOLD)),
            Tag::Strikethrough => self.styles.push(style.add_modifier(Modifier::CROSSED_OUT)),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some((dest_url.into_string(), String::new()));
                self.styles.push(style.add_modifier(Modifier::UNDERLINED));
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                self.table.iter_mut().for_each(Table::begin_row);
            }
            _other => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.flush();
                self.containers.pop();
                self.gap = true;
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = self.gap || self.lists.is_empty();
            }
            TagEnd::Item => {
                self.flush();
                // An item without a text, such as an answer that is only `42.`
                if let Some(Container::Item { marker: Some(_), .. }) = self.containers.last() {
                    self.print(&[], "");
                }
                self.containers.pop();
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.styles.pop();
                if let Some((target, text)) = self.link.take().filter(|(to, text)| to != text) {
                    let space = if text.is_empty() { "" } else { " " };
                    self.text(&format!("{space}({target})"), DIM);
                }
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.inline);
                self.table.iter_mut().for_each(|table| table.add_cell(cell.clone()));
            }
            TagEnd::Table => {
                let prefix = self.prefix();
                let room = self.columns.saturating_sub(super::wrap::spans_width(&prefix));
                for line in self.table.take().map(|table| table.lines(room)).unwrap_or_default() {
                    let prefix = self.prefix();
                    self.lines.push(Line::from([prefix, line.spans].concat()));
                    self.mark_printed();
                }
                self.gap = true;
            }
            _other => {}
        }
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some((_, link)) = &mut self.link {
            link.push_str(text);
        }
        self.inline.push(span(text, self.style().patch(style)));
    }

    /// Adds HTML as it stands.
    fn html(&mut self, text: &str) {
        for (at, line) in text.trim_end_matches('\n').split('\n').enumerate() {
            if at > 0 || text.starts_with('\n') {
                self.inline.push(Span::raw("\n"));
            }
            self.text(line, DIM);
        }
        if text.ends_with('\n') {
            self.flush();
        }
    }

    fn begin_block(&mut self) {
        self.flush();
        if std::mem::take(&mut self.gap) && !self.lines.is_empty() {
            let prefix = self.prefix();
            self.lines.extend(wrapped(&[], self.columns, &prefix, &prefix));
        }
    }

    fn end_block(&mut self) {
        self.flush();
        self.gap = true;
    }

    fn begin_item(&mut self) {
        self.begin_block();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number = number.saturating_add(1);
                marker
            }
            Some(None) | None => "• ".to_owned(),
        };
        let width = width(&marker);
        self.containers.push(Container::Item { marker: Some(marker), width });
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let mut highlighter = self.syntaxes.highlighter(&language);
        for line in code.lines() {
            let spans = highlighter.line(line);
            self.print(&spans, "  ");
        }
        self.gap = true;
    }

    fn flush(&mut self) {
        let inline = std::mem::take(&mut self.inline);
        if !inline.is_empty() {
            self.print(&inline, "");
        }
    }

    /// Adds lines of text, indented by the open containers and by `indent`.
    fn print(&mut self, spans: &[Span<'_>], indent: &'static str) {
        let mut first = self.prefix();
        first.push(Span::raw(indent));
        self.mark_printed();
        let mut rest = self.prefix();
        rest.push(Span::raw(indent));
        self.lines.extend(wrapped(spans, self.columns, &first, &rest));
    }

    fn prefix(&self) -> Vec<Span<'static>> {
        let containers = self.containers.iter().take(DEEPEST);
        let prefix = containers.map(|container| match container {
            Container::Quote => Span::styled("│ ", DIM),
            Container::Item { marker: Some(marker), .. } => Span::raw(marker.clone()),
            Container::Item { marker: None, width } => Span::raw(" ".repeat(*width)),
        });
        prefix.collect()
    }

    /// From now on, spaces stand for the markers of the open items.
    fn mark_printed(&mut self) {
        for container in &mut self.containers {
            if let Container::Item { marker, .. } = container {
                *marker = None;
            }
        }
    }
}

#[cfg(test)]
mod tests;
