//! The tool `notebook`, and how `read` shows notebooks.

use serde_json::{Value, json};

use super::session::{Session, ViewKind};

over_both_views! {
    cells_are_read_by_their_numbers_and_changed_and_the_file_stays_a_notebook,
}

async fn cells_are_read_by_their_numbers_and_changed_and_the_file_stays_a_notebook(kind: ViewKind) {
    let session = Session::new(kind).await;
    let source = json!({
        "cells": [{ "cell_type": "markdown", "id": "m", "metadata": {}, "source": ["# One\n", "two"] }],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
    });
    session.put("a.ipynb", source.to_string());
    let read = async || session.said("read", json!({ "path": "a.ipynb" })).await;
    assert_eq!(read().await, "     1  [cell 0: markdown]\n     2  # One\n     3  two");
    let change = |action: &str, cell: u64, content: &str| json!({ "notebook_path": "a.ipynb", "action": action, "cell_index": cell, "source": content });
    let done = session.answer("notebook", change("insert", 1, "x = 1")).await;
    assert_eq!(done.text, "Inserted cell 1 of a.ipynb, which has 2 cells now");
    assert_eq!(done.details.unwrap()["cells"], 2);
    session.said("notebook", change("edit", 0, "# Two")).await;
    let shown = "     1  [cell 0: markdown]\n     2  # Two\n     3  [cell 1: code]\n     4  x = 1";
    assert_eq!(read().await, shown);
    session.said("notebook", json!({ "path": "a.ipynb", "action": "delete", "cell": 0 })).await;
    let document: Value = serde_json::from_str(&session.text("a.ipynb").await).unwrap();
    let cells = document["cells"].as_array().unwrap();
    assert_eq!((cells.len(), &document["nbformat_minor"]), (1, &json!(5)));
    assert_eq!(cells[0]["source"], json!(["x = 1"]));
    assert!(cells[0]["id"].is_string(), "{document}");
    // What a cell has printed is not the output of its new source.
    let printed = json!([{ "output_type": "stream", "name": "stdout", "text": ["old\n"] }]);
    let cell = json!({
        "cell_type": "code", "id": "c", "metadata": {}, "source": "y = 1", "execution_count": 3,
        "outputs": printed,
    });
    let source = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    session.put("run.ipynb", source.to_string());
    let edit = json!({ "path": "run.ipynb", "action": "edit", "cell": 0, "content": "y = 2" });
    session.said("notebook", edit).await;
    let document: Value = serde_json::from_str(&session.text("run.ipynb").await).unwrap();
    let cell = &document["cells"][0];
    assert_eq!((&cell["outputs"], &cell["execution_count"]), (&json!([]), &Value::Null));

    let refused = session.failed("notebook", change("edit", 7, "x")).await;
    assert_eq!(refused, "a.ipynb was not changed: cell 7 is none: there are 1, counted from 0");
    let refused =
        session.failed("notebook", json!({ "path": "a.ipynb", "action": "edit", "cell": 0 })).await;
    assert!(refused.contains("edit and insert need content"), "{refused}");
    session.put("broken.ipynb", "{\"cells\": [");
    let broken = json!({ "path": "broken.ipynb", "action": "delete", "cell": 0 });
    let refused = session.failed("notebook", broken).await;
    assert!(refused.starts_with("broken.ipynb was not changed: it is not JSON ("), "{refused}");
    let shown = session.said("read", json!({ "path": "broken.ipynb" })).await;
    assert_eq!(shown, "     1  {\"cells\": [", "as any other text");
}
