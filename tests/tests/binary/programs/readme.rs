//! What the README and the pages with recipes contain: files and commands.

/// The README, and the pages whose commands belong to it, in the order in which they are typed.
const PAGES: [&str; 5] =
    ["README.md", "docs/running.md", "docs/agents.md", "docs/plans.md", "docs/conflicts.md"];

fn page(path: &str) -> String {
    let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("there is such a page")
}

/// Returns the README and the pages with recipes.
pub(crate) fn readme() -> String {
    PAGES.map(page).concat()
}

#[test]
fn the_readme_has_at_most_1500_words() {
    let words = page("README.md").split_whitespace().count();
    assert!(words <= 1_500, "{words} words");
}

/// Returns the blocks of the README whose fence says this, in their order.
pub(crate) fn blocks(fence: &str) -> Vec<String> {
    let readme = readme();
    let mut lines = readme.lines();
    let mut blocks = Vec::new();
    while lines.any(|line| line.strip_prefix("```") == Some(fence)) {
        let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push(block.join("\n") + "\n");
    }
    blocks
}

/// Returns the block of the README that is a file of this name.
pub(crate) fn file(fence: &str) -> String {
    let mut blocks = blocks(fence);
    assert_eq!(blocks.len(), 1, "the README has one block `{fence}`");
    blocks.remove(0)
}

/// Returns the commands that the README says can be typed, in their order, each on one line.
pub(crate) fn commands() -> Vec<String> {
    let blocks = blocks("sh").join("").replace("\\\n", " ");
    let commands = blocks.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    commands.filter(|line| !line.is_empty()).collect()
}

/// Returns the one command of the README that has these words in it.
pub(crate) fn command_of(words: &str) -> String {
    let mut commands = commands();
    commands.retain(|command| command.contains(words));
    assert_eq!(commands.len(), 1, "the README has one command with `{words}`: {commands:#?}");
    commands.remove(0)
}
