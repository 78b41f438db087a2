//! The table of the files that define servers.

use super::entry::ServerProgram;

/// A file that may define servers.
pub(super) struct Place {
    pub(super) program: ServerProgram,
    pub(super) folder: Folder,
    /// The path of the file from the folder.
    pub(super) path: &'static str,
    pub(super) format: Format,
}

/// The folder in which a file is looked for. What is below that of a project is of the project, all else of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Folder {
    /// That of the user's settings.
    Config,
    /// The user's home.
    Home,
    /// The working folder, or the nearest folder above it in the same project that has the file.
    Project,
}

/// Where the servers stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// In JSON, below these keys.
    Json(&'static [&'static str]),
    /// In TOML, below this key.
    Toml(&'static str),
    /// In JSON, below `projects`, the path of the project, and `mcpServers`.
    Projects,
}

const SERVERS: Format = Format::Json(&["mcpServers"]);
const OPENCODE: Format = Format::Json(&["mcp"]);
const CODEX: Format = Format::Toml("mcp_servers");

/// The files, in the order of their precedence. Of one program, the user's are before the project's, so that no
/// repository replaces a server of the user.
#[rustfmt::skip]
pub(super) const PLACES: &[Place] = &[
    place(ServerProgram::Regatta, Folder::Config, "mcp.json", SERVERS),
    place(ServerProgram::Regatta, Folder::Project, ".regatta/mcp.json", SERVERS),
    place(ServerProgram::Omp, Folder::Home, ".omp/agent/mcp.json", SERVERS),
    place(ServerProgram::Omp, Folder::Home, ".omp/agent/.mcp.json", SERVERS),
    place(ServerProgram::Omp, Folder::Project, ".omp/mcp.json", SERVERS),
    place(ServerProgram::Omp, Folder::Project, ".omp/.mcp.json", SERVERS),
    place(ServerProgram::Claude, Folder::Home, ".claude.json", Format::Projects),
    place(ServerProgram::Claude, Folder::Home, ".claude.json", SERVERS),
    place(ServerProgram::Claude, Folder::Home, ".claude/mcp.json", SERVERS),
    place(ServerProgram::Claude, Folder::Home, ".claude/.mcp.json", SERVERS),
    place(ServerProgram::Claude, Folder::Project, ".mcp.json", SERVERS),
    place(ServerProgram::Claude, Folder::Project, ".claude/mcp.json", SERVERS),
    place(ServerProgram::Claude, Folder::Project, ".claude/.mcp.json", SERVERS),
    place(ServerProgram::Codex, Folder::Home, ".codex/config.toml", CODEX),
    place(ServerProgram::Codex, Folder::Project, ".codex/config.toml", CODEX),
    place(ServerProgram::Gemini, Folder::Home, ".gemini/settings.json", SERVERS),
    place(ServerProgram::Gemini, Folder::Project, ".gemini/settings.json", SERVERS),
    place(ServerProgram::Opencode, Folder::Home, ".config/opencode/opencode.json", OPENCODE),
    place(ServerProgram::Opencode, Folder::Home, ".config/opencode/opencode.jsonc", OPENCODE),
    place(ServerProgram::Opencode, Folder::Project, "opencode.json", OPENCODE),
    place(ServerProgram::Opencode, Folder::Project, "opencode.jsonc", OPENCODE),
    place(ServerProgram::Opencode, Folder::Project, ".opencode/opencode.json", OPENCODE),
    place(ServerProgram::Opencode, Folder::Project, ".opencode/opencode.jsonc", OPENCODE),
    place(ServerProgram::Cursor, Folder::Home, ".cursor/mcp.json", SERVERS),
    place(ServerProgram::Cursor, Folder::Project, ".cursor/mcp.json", SERVERS),
    place(ServerProgram::Windsurf, Folder::Home, ".codeium/windsurf/mcp_config.json", SERVERS),
    place(ServerProgram::Windsurf, Folder::Project, ".windsurf/mcp_config.json", SERVERS),
    place(ServerProgram::VsCode, Folder::Project, ".vscode/mcp.json", Format::Json(&["servers"])),
    place(ServerProgram::VsCode, Folder::Project, ".vscode/mcp.json", Format::Json(&["mcp", "servers"])),
    place(ServerProgram::Any, Folder::Project, "mcp.json", SERVERS),
];

const fn place(
    program: ServerProgram,
    folder: Folder,
    path: &'static str,
    format: Format,
) -> Place {
    Place { program, folder, path, format }
}

impl ServerProgram {
    /// Returns the name of the program, for people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Regatta => "Regatta",
            Self::Omp => "omp",
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Opencode => "opencode",
            Self::Cursor => "Cursor",
            Self::Windsurf => "Windsurf",
            Self::VsCode => "VS Code",
            Self::Any => "other programs",
        }
    }
}
