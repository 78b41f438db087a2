//! The tree: leaves, branches, labels, and files that are damaged.

use super::*;

fn id(text: &str) -> EntryId {
    EntryId::new(text)
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_millisecond(1_767_323_045_678 + 1_000 * second)
}

/// Returns the tree of a file whose lines are `id` or `id<parent`.
fn read(lines: &str) -> SessionTree<()> {
    let mut tree = SessionTree::default();
    for (second, line) in (0..).zip(lines.split_whitespace()) {
        let (own, parent) = line.split_once('<').map_or((line, None), |(a, b)| (a, Some(id(b))));
        tree.push(id(own), parent, at(second), ());
    }
    tree
}

fn path(tree: &SessionTree<()>) -> String {
    let ids: Vec<_> = tree.path().iter().map(|place| tree.nodes()[*place].id.as_str()).collect();
    ids.join(" ")
}

/// Returns the shape in one line: a node, and its children in parentheses.
fn shape(tree: &SessionTree<()>) -> String {
    fn word(tree: &SessionTree<()>, shape: &TreeShape, places: &[usize]) -> String {
        let words = places.iter().map(|place| {
            let id = &tree.nodes()[*place].id;
            match &shape.children[*place][..] {
                [] => id.to_string(),
                below => format!("{id}({})", word(tree, shape, below)),
            }
        });
        words.collect::<Vec<_>>().join(" ")
    }
    let shape = tree.shape();
    word(tree, &shape, &shape.roots)
}

#[test]
fn the_parent_of_a_new_entry_is_the_leaf_which_may_be_moved() {
    let mut tree = SessionTree::default();
    for (second, name) in (0..).zip(["a", "b", "c"]) {
        tree.append(id(name), at(second), ());
    }
    assert_eq!(path(&tree), "a b c");
    tree.branch(&id("a")).unwrap();
    assert_eq!(path(&tree), "a");
    tree.append(id("d"), at(3), ());
    assert_eq!((path(&tree).as_str(), shape(&tree).as_str()), ("a d", "a(b(c) d)"));
    tree.reset_leaf();
    assert_eq!(tree.path(), Vec::<usize>::new());
    tree.append(id("e"), at(4), ());
    assert_eq!((path(&tree).as_str(), shape(&tree).as_str()), ("e", "a(b(c) d) e"));
    assert_eq!(tree.branch(&id("x")), Err(UnknownEntry(id("x"))));
    assert_eq!(tree.leaf_id(), Some(&id("e")));
}

#[test]
fn children_are_in_the_order_of_their_time() {
    let mut tree = SessionTree::default();
    tree.push(id("a"), None, at(5), ());
    for (name, second) in [("b", 9), ("c", 7), ("d", 8)] {
        tree.push(id(name), Some(id("a")), at(second), ());
    }
    assert_eq!(shape(&tree), "a(c d b)");
}

#[test]
fn a_parent_that_is_missing_makes_a_root_and_one_that_comes_later_is_found() {
    let tree = read("a<gone b<a c<d d");
    assert_eq!(shape(&tree), "a(b) d(c)");
    let mut tree = tree;
    tree.branch(&id("c")).unwrap();
    assert_eq!(path(&tree), "d c");
}

#[test]
fn a_cycle_of_parents_ends_every_walk_and_hides_no_entry() {
    for (lines, leaf, walk, whole) in [
        ("a<a", "a", "a", "a"),
        ("a<b b<a", "b", "a b", "a(b)"),
        ("a<b b<a", "a", "b a", "a(b)"),
        ("r a<c b<a c<b d<c", "d", "a b c d", "r a(b(c(d)))"),
        ("a<b b<c c<a x<b", "x", "a c b x", "a(c(b(x)))"),
    ] {
        let mut tree = read(lines);
        tree.branch(&id(leaf)).unwrap();
        assert_eq!((path(&tree).as_str(), shape(&tree).as_str()), (walk, whole), "{lines}");
    }
}

#[test]
fn of_two_entries_with_one_id_the_last_counts_and_both_are_there() {
    let tree = read("a b<a b<b c<b");
    assert_eq!((path(&tree).as_str(), shape(&tree).as_str()), ("a b b c", "a(b(b(c)))"));
}

#[test]
fn fifty_thousand_entries_whose_parents_all_come_later_are_walked_at_once() {
    let mut tree = SessionTree::default();
    for number in 0..50_000 {
        tree.push(id(&number.to_string()), Some(id(&(number + 1).to_string())), at(0), ());
    }
    tree.branch(&id("0")).unwrap();
    assert_eq!(tree.path().len(), 50_000);
    assert_eq!(tree.shape().roots.len(), 1);
}

#[test]
fn what_a_move_leaves_ends_where_the_paths_part() {
    let mut tree = read("a b<a c<b d<a e<d");
    let left = |tree: &SessionTree<()>, target: &str| {
        let left = tree.left_by_move_to(&id(target)).unwrap();
        left.iter().map(|place| tree.nodes()[*place].id.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(left(&tree, "c"), "d e");
    assert_eq!(left(&tree, "a"), "d e");
    assert_eq!(left(&tree, "e"), "");
    tree.branch(&id("b")).unwrap();
    assert_eq!(left(&tree, "e"), "b");
    assert_eq!(left(&tree, "c"), "");
    assert!(tree.left_by_move_to(&id("x")).is_err());
}

#[test]
fn the_last_label_of_an_entry_counts_and_an_empty_one_clears_it() {
    let mut tree = read("a b<a");
    tree.set_label(id("a"), Some("one".to_owned()));
    tree.set_label(id("b"), Some("two".to_owned()));
    tree.set_label(id("a"), Some("three".to_owned()));
    tree.set_label(id("b"), None);
    let labels: Vec<_> = tree.labels().iter().map(|(id, label)| format!("{id} {label}")).collect();
    assert_eq!(labels, ["a three"]);
    tree.set_label(id("a"), Some(String::new()));
    assert!(tree.labels().is_empty());
}

#[test]
fn an_entry_whose_parent_is_damaged_follows_what_was_before_it() {
    let mut tree = read("a b<a");
    let place = tree.push_after_gap(1, (id("d"), Some(id("c"))), at(2), ());
    tree.push(id("e"), Some(id("d")), at(3), ());
    let outline = tree.outline();
    assert_eq!((path(&tree).as_str(), path(&outline).as_str()), ("a b d e", "a b d e"));
    assert_eq!((tree.parent_id(place), outline.parent_id(0)), (Some(&id("b")), None));
    assert_eq!(shape(&outline), "a(b(d(e)))");
}
