//! A Jupyter notebook: its cells as text, and changes of them that leave the rest as it is.

use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value, json};

use crate::display::head;

/// How many bytes of the output of a cell are shown.
const OUTPUT: usize = 2 << 10;

/// The version of the format from which cells have ids, as major and minor.
const WITH_IDS: (u64, u64) = (4, 5);

/// The oldest version whose cells are a list of the notebook itself.
const OLDEST: u64 = 4;

/// A notebook.
pub(crate) struct Notebook {
    document: Map<String, Value>,
    /// The byte order mark, if there is one.
    mark: &'static str,
    /// One level of indentation, the end of a line, and what is behind the last brace.
    indent: String,
    line_end: &'static str,
    end: &'static str,
}

/// Why a text is not a notebook.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotebookError {
    #[error("it is not JSON ({0})")]
    Json(#[from] serde_json::Error),
    #[error("it has no list of cells, as notebooks of format 4 have")]
    NoCells,
    #[error("cell {index} is none: there are {count}, counted from 0")]
    Bounds { index: usize, count: usize },
    #[error("cell {0} is not an object with a source")]
    Cell(usize),
    #[error("edit and insert need content, which is the source of the cell")]
    NoContent,
}

/// What a cell contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CellType {
    Code,
    Markdown,
}

impl CellType {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

impl Notebook {
    /// Parses the text of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, NotebookError> {
        let (mark, body) = match text.strip_prefix('\u{feff}') {
            Some(body) => ("\u{feff}", body),
            None => ("", text),
        };
        let document = match serde_json::from_str(body)? {
            Value::Object(document) => document,
            _ => return Err(NotebookError::NoCells),
        };
        let is_new = document.get("nbformat").and_then(Value::as_u64) >= Some(OLDEST);
        if !is_new || !document.get("cells").is_some_and(Value::is_array) {
            return Err(NotebookError::NoCells);
        }
        let second = body.lines().nth(1).unwrap_or_default();
        let indent = &second[..second.len() - second.trim_start().len()];
        let indent = if indent.is_empty() { " " } else { indent };
        let first_end = body.find('\n').map(|end| &body[..end]);
        let has_crlf = first_end.is_some_and(|line| line.ends_with('\r'));
        let line_end = if has_crlf { "\r\n" } else { "\n" };
        let end = if body.ends_with('\n') { line_end } else { "" };
        Ok(Self { document, mark, indent: indent.to_owned(), line_end, end })
    }

    fn cells(&self) -> &[Value] {
        self.document.get("cells").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(super) fn cells_mut(&mut self) -> Result<&mut Vec<Value>, NotebookError> {
        self.document.get_mut("cells").and_then(Value::as_array_mut).ok_or(NotebookError::NoCells)
    }

    /// Returns the number of cells.
    pub(super) fn count(&self) -> usize {
        self.cells().len()
    }

    /// Replaces the source of a cell. Outputs of a code cell are not those of the new source.
    pub(super) fn edit(
        &mut self,
        index: usize,
        source: &str,
        cell_type: Option<CellType>,
    ) -> Result<(), NotebookError> {
        let count = self.count();
        let cell = self.cells_mut()?.get_mut(index);
        let cell = cell.ok_or(NotebookError::Bounds { index, count })?;
        let cell = cell.as_object_mut().ok_or(NotebookError::Cell(index))?;
        cell.insert("source".to_owned(), lines(source));
        if let Some(cell_type) = cell_type {
            cell.insert("cell_type".to_owned(), json!(cell_type.name()));
        }
        match cell.get("cell_type").and_then(Value::as_str) {
            Some("code") => {
                cell.insert("execution_count".to_owned(), Value::Null);
                cell.insert("outputs".to_owned(), json!([]));
            }
            _ => {
                cell.shift_remove("execution_count");
                cell.shift_remove("outputs");
            }
        }
        Ok(())
    }

    /// Inserts a cell before the one at `index`, or behind the last.
    pub(super) fn insert(
        &mut self,
        index: usize,
        source: &str,
        cell_type: CellType,
    ) -> Result<(), NotebookError> {
        let count = self.count();
        if index > count {
            return Err(NotebookError::Bounds { index, count });
        }
        let mut cell = json!({ "cell_type": cell_type.name() });
        if cell_type == CellType::Code {
            cell["execution_count"] = Value::Null;
        }
        if let Some(id) = self.new_id() {
            cell["id"] = json!(id);
        }
        cell["metadata"] = json!({});
        if cell_type == CellType::Code {
            cell["outputs"] = json!([]);
        }
        cell["source"] = lines(source);
        self.cells_mut()?.insert(index, cell);
        Ok(())
    }

    /// Removes a cell.
    pub(super) fn delete(&mut self, index: usize) -> Result<(), NotebookError> {
        let count = self.count();
        if index >= count {
            return Err(NotebookError::Bounds { index, count });
        }
        self.cells_mut()?.remove(index);
        Ok(())
    }

    /// Returns an id that no cell has, if cells have ids in this version of the format.
    fn new_id(&self) -> Option<String> {
        let number = |name: &str| self.document.get(name).and_then(Value::as_u64).unwrap_or(0);
        if (number("nbformat"), number("nbformat_minor")) < WITH_IDS {
            return None;
        }
        let is_free = |id: &String| {
            self.cells().iter().all(|cell| cell.get("id").and_then(Value::as_str) != Some(id))
        };
        (self.count()..).map(|number| format!("cell-{number}")).find(is_free)
    }

    /// Returns the text of the file.
    pub(super) fn text(&self) -> Result<String, NotebookError> {
        let mut bytes = Vec::new();
        let formatter = PrettyFormatter::with_indent(self.indent.as_bytes());
        self.document.serialize(&mut Serializer::with_formatter(&mut bytes, formatter))?;
        // No string in it has a line break that is not escaped.
        let text = String::from_utf8_lossy(&bytes).replace('\n', self.line_end);
        Ok(format!("{}{text}{}", self.mark, self.end))
    }

    /// Returns the cells as a model reads them, each below a line with its number.
    pub(crate) fn readable(&self) -> String {
        let mut shown = String::new();
        for (number, cell) in self.cells().iter().enumerate() {
            let cell_type = cell.get("cell_type").and_then(Value::as_str).unwrap_or("unknown");
            shown.push_str(&format!("[cell {number}: {cell_type}]\n"));
            push_lines(&mut shown, &joined(cell.get("source")));
            let outputs = cell.get("outputs").and_then(Value::as_array);
            for output in outputs.into_iter().flatten() {
                shown.push_str("[output]\n");
                let text = output_text(output);
                let cut = head(&text, OUTPUT);
                push_lines(&mut shown, cut);
                if cut.len() < text.len() {
                    shown.push_str(&format!("[{} more bytes]\n", text.len() - cut.len()));
                }
            }
        }
        shown
    }
}

fn push_lines(shown: &mut String, text: &str) {
    shown.push_str(text);
    if !text.is_empty() && !text.ends_with('\n') {
        shown.push('\n');
    }
}

/// Returns the text of an output, and the types of what is not text.
fn output_text(output: &Value) -> String {
    if let Some(text) = output.get("text") {
        return joined(Some(text));
    }
    if let Some(error) = output.get("ename").and_then(Value::as_str) {
        let value = output.get("evalue").and_then(Value::as_str).unwrap_or_default();
        return format!("{error}: {value}");
    }
    let Some(data) = output.get("data").and_then(Value::as_object) else { return String::new() };
    match data.get("text/plain") {
        Some(text) => joined(Some(text)),
        None => data.keys().map(|kind| format!("[{kind}]\n")).collect(),
    }
}

/// Returns a text that is a string or a list of lines.
fn joined(text: Option<&Value>) -> String {
    match text {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Returns a text as the list of its lines.
fn lines(text: &str) -> Value {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTEBOOK: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \
        \"id\": \"a\",\n   \"metadata\": {\"x\": 1},\n   \"outputs\": [\n    {\"output_type\": \"stream\", \"text\": \
        [\"1\\n\"]},\n    {\"output_type\": \"display_data\", \"data\": {\"image/png\": \"AA==\"}}\n   ],\n   \"source\": \
        [\"x = 1\\n\", \"print(x)\"]\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";

    #[test]
    fn cells_are_edited_inserted_and_removed_and_the_rest_stays() {
        let mut notebook = Notebook::parse(NOTEBOOK).unwrap();
        assert_eq!(
            notebook.readable(),
            "[cell 0: code]\nx = 1\nprint(x)\n[output]\n1\n[output]\n[image/png]\n"
        );
        notebook.insert(0, "# Title\n", CellType::Markdown).unwrap();
        notebook.insert(2, "y", CellType::Code).unwrap();
        notebook.edit(1, "x = 2\nx", None).unwrap();
        let text = notebook.text().unwrap();
        assert!(
            text.starts_with("{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": ")
        );
        assert!(text.ends_with("\"nbformat_minor\": 5\n}\n"), "{text}");
        let document: Value = serde_json::from_str(&text).unwrap();
        let expected = json!([
            { "cell_type": "markdown", "id": "cell-1", "metadata": {}, "source": ["# Title\n"] },
            {
                "cell_type": "code", "execution_count": null, "id": "a", "metadata": { "x": 1 },
                "outputs": [], "source": ["x = 2\n", "x"],
            },
            {
                "cell_type": "code", "execution_count": null, "id": "cell-2", "metadata": {},
                "outputs": [], "source": ["y"],
            },
        ]);
        assert_eq!(document["cells"], expected);
        notebook.edit(1, "text", Some(CellType::Markdown)).unwrap();
        notebook.delete(2).unwrap();
        let document: Value = serde_json::from_str(&notebook.text().unwrap()).unwrap();
        let markdown = json!({ "cell_type": "markdown", "id": "a", "metadata": { "x": 1 }, "source": ["text"] });
        assert_eq!(document["cells"][1], markdown);
        assert_eq!(notebook.count(), 2);
    }

    #[test]
    fn the_mark_the_line_ends_and_the_end_of_the_file_stay() {
        let crlf = NOTEBOOK.replace('\n', "\r\n");
        for text in [NOTEBOOK.to_owned(), crlf.clone(), format!("\u{feff}{}", crlf.trim_end())] {
            let mut notebook = Notebook::parse(&text).unwrap();
            notebook.insert(0, "new\r\nline", CellType::Code).unwrap();
            assert_ne!(notebook.text().unwrap(), text);
            notebook.delete(0).unwrap();
            // Lists are written with an item a line.
            let mut same = Notebook::parse(&notebook.text().unwrap()).unwrap();
            same.edit(0, "x = 1\nprint(x)", None).unwrap();
            let after = same.text().unwrap();
            assert_eq!(after.starts_with('\u{feff}'), text.starts_with('\u{feff}'));
            assert_eq!(after.ends_with('\n'), text.ends_with('\n'));
            let crlf = after.matches("\r\n").count();
            let expected = if text.contains('\r') { after.matches('\n').count() } else { 0 };
            assert_eq!(crlf, expected, "{after:?}");
        }
    }

    #[test]
    fn what_is_no_cell_or_no_notebook_is_told() {
        let mut notebook = Notebook::parse(NOTEBOOK).unwrap();
        let bounds = "cell 1 is none: there are 1, counted from 0";
        assert_eq!(notebook.edit(1, "", None).unwrap_err().to_string(), bounds);
        assert_eq!(notebook.delete(1).unwrap_err().to_string(), bounds);
        assert!(notebook.insert(2, "", CellType::Code).is_err());
        for text in
            ["", "[]", "{}", "{\"nbformat\":3,\"cells\":[]}", "{\"nbformat\":4,\"cells\":1}"]
        {
            assert!(Notebook::parse(text).is_err(), "{text}");
        }
        let old = "{\"nbformat\":4,\"nbformat_minor\":2,\"cells\":[1]}";
        let mut old = Notebook::parse(old).unwrap();
        assert_eq!(old.readable(), "[cell 0: unknown]\n");
        assert_eq!(
            old.edit(0, "", None).unwrap_err().to_string(),
            "cell 0 is not an object with a source"
        );
        old.insert(1, "x", CellType::Markdown).unwrap();
        assert!(!old.text().unwrap().contains("\"id\""), "cells of that version have none");
    }
}
