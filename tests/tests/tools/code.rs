//! The tools `ast_grep`, `ast_edit` and `resolve`.

use std::sync::Arc;

use engine::ports::{AccessClass, Concurrency, PendingSlot};
use serde_json::{Value, json};
use syntax::Grammars;

use super::session::{Session, Setting, ViewKind};

async fn session(kind: ViewKind) -> Session {
    let setting = Setting { syntax: Some(Arc::new(Grammars)), ..Setting::default() };
    let session = Session::with(kind, setting).await;
    session.put("src/a.rs", "fn f() {\n    a.unwrap();\r\n    b\n        .c.unwrap();\n}\n");
    session.put("src/b.rs", "// x.unwrap()\nfn g() { x.unwrap() }\n");
    session.put("src/c.py", "x.unwrap()\n");
    session.put("built/d.rs", "fn h() { y.unwrap() }\n");
    session.put(".gitignore", "built\n");
    session
}

fn edit() -> Value {
    json!({ "pattern": "$A.unwrap()", "rewrite": "$A?", "language": "rust" })
}

over_both_views! {
    code_is_found_by_its_syntax,
    a_rewrite_is_shown_and_then_applied_or_discarded_by_resolve,
    a_rewrite_is_applied_to_all_files_as_they_were_shown_or_to_none,
}

async fn code_is_found_by_its_syntax(kind: ViewKind) {
    let session = session(kind).await;
    let find =
        |pattern: &str, path: &str| json!({ "pattern": pattern, "lang": "Rust", "path": path });
    let found = session.said("ast_grep", find("$A.unwrap()", ".")).await;
    let a = "src/a.rs\n2:    a.unwrap();\n3:    b\n4-        .c.unwrap();\n";
    assert_eq!(found, format!("{a}\nsrc/b.rs\n2:fn g() {{ x.unwrap() }}"));
    let one = session.said("ast_grep", find("$A.unwrap()", "built/d.rs")).await;
    assert_eq!(one, "built/d.rs\n1:fn h() { y.unwrap() }");
    let mut first = find("$A.unwrap()", "src");
    first["limit"] = json!(1);
    let first = session.said("ast_grep", first).await;
    let more = "There are more matches; name a folder, a glob or a larger limit";
    assert_eq!(first, format!("src/a.rs\n2:    a.unwrap();\n\n[{more}]"));
    assert_eq!(session.said("ast_grep", find("nope()", ".")).await, "No matches found");
    for (pattern, language, why) in
        [("fn f(", "rust", "not valid rust"), ("x", "cobol", "the languages are go, ")]
    {
        let wrong = json!({ "pattern": pattern, "language": language });
        let failed = session.failed("ast_grep", wrong).await;
        assert!(failed.contains(why), "{failed}");
    }
    session.put("deep.rs", format!("fn f() {{ {}1{} }}", "(".repeat(9_000), ")".repeat(9_000)));
    session.put("bytes.rs", b"a.unwrap()\0");
    let found = session.said("ast_grep", find("$A.unwrap()", ".")).await;
    assert!(found.ends_with("cannot be parsed: 2 files]"), "{found}");
}

async fn a_rewrite_is_shown_and_then_applied_or_discarded_by_resolve(kind: ViewKind) {
    let session = session(kind).await;
    let none = "No pending action to resolve. Nothing to apply or discard.";
    let (apply, discard) = (json!({ "action": "apply" }), json!({ "action": "discard" }));
    assert_eq!(session.failed("resolve", apply.clone()).await, none);
    let (a, b) = (session.text("src/a.rs").await, session.text("src/b.rs").await);
    let shown = session.answer("ast_edit", edit()).await;
    assert!(shown.text.starts_with("Would change 3 matches in 2 files."), "{}", shown.text);
    assert!(shown.text.contains("-    a.unwrap();\n+    a?;\n"), "{}", shown.text);
    assert_eq!(shown.details.unwrap()["files"], json!(["src/a.rs", "src/b.rs"]));
    assert_eq!((session.text("src/a.rs").await, session.text("src/b.rs").await), (a, b));

    let access = session.access("resolve", apply.clone());
    let files = ["src/a.rs", "src/b.rs"].map(str::to_owned).to_vec();
    assert_eq!(
        (access.class, access.concurrency),
        (AccessClass::Write(files), Concurrency::Exclusive)
    );
    let said = session.said("resolve", discard).await;
    assert_eq!(said, "Discarded what ast_edit has left. Nothing was changed.");
    assert_eq!(session.failed("resolve", apply.clone()).await, none);

    session.said("ast_edit", edit()).await;
    let call = super::session::call("resolve", apply.clone());
    let diff = session.tools().preview(&call, session.view().as_ref()).await.unwrap();
    assert!(diff.contains("--- a/src/b.rs\n+++ b/src/b.rs\n"), "{diff}");
    let said = session.said("resolve", apply.clone()).await;
    assert!(said.starts_with("Changed 2 files: +3 −3 lines"), "{said}");
    let after = "fn f() {\n    a?;\r\n    b\n        .c?;\n}\n";
    assert_eq!(session.text("src/a.rs").await, after);
    assert_eq!(session.text("src/b.rs").await, "// x.unwrap()\nfn g() { x? }\n");
    assert_eq!(session.text("built/d.rs").await, "fn h() { y.unwrap() }\n");
    assert_eq!(session.failed("resolve", apply).await, none);
}

async fn a_rewrite_is_applied_to_all_files_as_they_were_shown_or_to_none(kind: ViewKind) {
    let session = session(kind).await;
    session.said("ast_edit", edit()).await;
    let a = session.text("src/a.rs").await;
    session.put("src/b.rs", "fn g() { y.unwrap() }\n");
    let failed = session.failed("resolve", json!({ "action": "apply" })).await;
    assert!(failed.contains("`src/b.rs` was changed by something else"), "{failed}");
    assert_eq!(session.text("src/a.rs").await, a);
    assert!(session.tools().pending().get().is_none(), "it has to be shown again");
}

#[test]
async fn only_a_session_with_a_tool_that_leaves_actions_pending_has_resolve() {
    let names = |session: &Session| -> Vec<String> {
        session.declarations().iter().map(|tool| tool.name.clone()).collect()
    };
    let with = names(&session(ViewKind::Memory).await);
    assert!(
        ["ast_grep", "ast_edit", "resolve"].iter().all(|name| with.iter().any(|it| it == name))
    );
    let without = names(&Session::new(ViewKind::Memory).await);
    let few =
        without.iter().filter(|name| ["ast_grep", "ast_edit", "resolve"].contains(&name.as_str()));
    assert_eq!(few.count(), 0);
    assert!(PendingSlot::default().take().is_none());
}
