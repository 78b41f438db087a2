//! The command lines of merge tools that git knows too, so that they need no `mergetool.NAME.cmd`.

use crate::render::shell_word;

/// A tool by its name in `merge.tool`, its program, and the arguments that make it merge.
struct KnownTool(&'static str, &'static str, &'static str);

/// Three windows above and the file below them.
const FOUR_WINDOWS: &str =
    "-f -d -c '4wincmd w | wincmd J' \"$LOCAL\" \"$BASE\" \"$REMOTE\" \"$MERGED\"";
/// The file between both sides.
const THREE_WINDOWS: &str = "-f -d -c 'wincmd l' \"$LOCAL\" \"$MERGED\" \"$REMOTE\"";
/// The file alone, compared with hidden windows.
const ONE_WINDOW: &str = "-f -d -c 'hid | hid | hid' \"$LOCAL\" \"$REMOTE\" \"$BASE\" \"$MERGED\"";

const KNOWN: &[KnownTool] = &[
    KnownTool("vimdiff", "vim", FOUR_WINDOWS),
    KnownTool("vimdiff2", "vim", THREE_WINDOWS),
    KnownTool("vimdiff3", "vim", ONE_WINDOW),
    KnownTool("nvimdiff", "nvim", FOUR_WINDOWS),
    KnownTool("nvimdiff2", "nvim", THREE_WINDOWS),
    KnownTool("nvimdiff3", "nvim", ONE_WINDOW),
    KnownTool("gvimdiff", "gvim", FOUR_WINDOWS),
    KnownTool("gvimdiff2", "gvim", THREE_WINDOWS),
    KnownTool("gvimdiff3", "gvim", ONE_WINDOW),
    KnownTool(
        "emerge",
        "emacs",
        "-f emerge-files-with-ancestor-command \"$LOCAL\" \"$REMOTE\" \"$BASE\" \
         \"$(basename \"$MERGED\")\"",
    ),
    KnownTool("meld", "meld", "--output=\"$MERGED\" \"$LOCAL\" \"$BASE\" \"$REMOTE\""),
    KnownTool("kdiff3", "kdiff3", "--auto -o \"$MERGED\" \"$BASE\" \"$LOCAL\" \"$REMOTE\""),
    KnownTool(
        "opendiff",
        "opendiff",
        "\"$LOCAL\" \"$REMOTE\" -ancestor \"$BASE\" -merge \"$MERGED\" | cat",
    ),
    KnownTool("vscode", "code", "--wait --merge \"$REMOTE\" \"$LOCAL\" \"$BASE\" \"$MERGED\""),
    KnownTool("p4merge", "p4merge", "\"$BASE\" \"$REMOTE\" \"$LOCAL\" \"$MERGED\""),
    KnownTool("smerge", "smerge", "mergetool \"$BASE\" \"$LOCAL\" \"$REMOTE\" -o \"$MERGED\""),
    KnownTool("tkdiff", "tkdiff", "-a \"$BASE\" -o \"$MERGED\" \"$LOCAL\" \"$REMOTE\""),
    KnownTool(
        "xxdiff",
        "xxdiff",
        "-X --show-merged-pane --merged-file \"$MERGED\" \"$LOCAL\" \"$BASE\" \"$REMOTE\"",
    ),
    KnownTool("bc", "bcompare", "\"$LOCAL\" \"$REMOTE\" \"$BASE\" -mergeoutput=\"$MERGED\""),
    KnownTool(
        "diffmerge",
        "diffmerge",
        "--merge --result=\"$MERGED\" \"$LOCAL\" \"$BASE\" \"$REMOTE\"",
    ),
];

/// Returns the command of a tool that needs none of its own; `path` is the place of its program, if it
/// is not where it usually is.
pub(super) fn known_command(name: &str, path: Option<&str>) -> Option<String> {
    let KnownTool(_, program, arguments) = KNOWN.iter().find(|known| known.0 == name)?;
    Some(format!("{} {arguments}", shell_word(path.unwrap_or(program))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_tool_is_run_where_its_path_says() {
        let meld = "meld --output=\"$MERGED\" \"$LOCAL\" \"$BASE\" \"$REMOTE\"";
        assert_eq!(known_command("meld", None).as_deref(), Some(meld));
        let elsewhere = known_command("meld", Some("/opt/my tools/meld")).unwrap();
        assert_eq!(elsewhere, format!("'/opt/my tools/meld'{}", &meld[4..]));
        assert_eq!(known_command("nobody", None), None);
    }
}
