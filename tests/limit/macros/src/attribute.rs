//! The attribute `#[test]` with a time limit, for plain and for async functions.

use proc_macro::{Delimiter, Group, TokenStream, TokenTree};

/// Makes a function a test that is watched while it runs.
///
/// It takes the place of the attribute of the standard library. An async function becomes a test
/// of tokio with the same arguments, for instance `#[test(start_paused = true)]`.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = item.into_iter().collect();
    let keyword = |tokens: &[TokenTree], word: &str| {
        tokens
            .iter()
            .position(|token| matches!(token, TokenTree::Ident(name) if name.to_string() == word))
    };
    let function = keyword(&tokens, "fn");
    let is_async = function.is_some_and(|at| keyword(&tokens[..at], "async").is_some());
    let name = function.and_then(|at| tokens.get(at + 1)).map(ToString::to_string);
    // The body is the last token of a function. Anything else is left to the compiler to refuse.
    if let (Some(name), Some(TokenTree::Group(body))) = (name, tokens.last().cloned()) {
        tokens.pop();
        tokens.push(watched(&name, &body));
    }
    let attribute = if is_async {
        format!("#[::tokio::test({arguments})]")
    } else {
        "#[::core::prelude::v1::test]".to_owned()
    };
    let mut test = parsed(&attribute);
    test.extend(tokens);
    test
}

/// Returns the body of a test with the call that watches it at its beginning.
fn watched(name: &str, body: &Group) -> TokenTree {
    let begin = format!("let _watched = ::test_limit::begin(module_path!(), \"{name}\");");
    let mut inside = parsed(&begin);
    inside.extend(body.stream());
    let mut group = Group::new(Delimiter::Brace, inside);
    group.set_span(body.span());
    TokenTree::Group(group)
}

fn parsed(source: &str) -> TokenStream {
    source.parse().expect("the source is right for any name of a function")
}
