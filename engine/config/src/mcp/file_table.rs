//! The table of the files that define servers.

use super::entry::ServerProgram;

/// A file that may define servers.
pub(super) struct DefinitionFile {
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
pub(super) const FILES: &[DefinitionFile] = &[
    file(ServerProgram::Regatta, Folder::Config, "mcp.json", SERVERS),
    file(ServerProgram::Regatta, Folder::Project, ".regatta/mcp.json", SERVERS),
    file(ServerProgram::Omp, Folder::Home, ".omp/agent/mcp.json", SERVERS),
    file(ServerProgram::Omp, Folder::Home, ".omp/agent/.mcp.json", SERVERS),
    file(ServerProgram::Omp, Folder::Project, ".omp/mcp.json", SERVERS),
    file(ServerProgram::Omp, Folder::Project, ".omp/.mcp.json", SERVERS),
    file(ServerProgram::Claude, Folder::Home, ".claude.json", Format::Projects),
    file(ServerProgram::Claude, Folder::Home, ".claude.json", SERVERS),
    file(ServerProgram::Claude, Folder::Home, ".claude/mcp.json", SERVERS),
    file(ServerProgram::Claude, Folder::Home, ".claude/.mcp.json", SERVERS),
    file(ServerProgram::Claude, Folder::Project, ".mcp.json", SERVERS),
    file(ServerProgram::Claude, Folder::Project, ".claude/mcp.json", SERVERS),
    file(ServerProgram::Claude, Folder::Project, ".claude/.mcp.json", SERVERS),
    file(ServerProgram::Codex, Folder::Home, ".codex/config.toml", CODEX),
    file(ServerProgram::Codex, Folder::Project, ".codex/config.toml", CODEX),
    file(ServerProgram::Gemini, Folder::Home, ".gemini/settings.json", SERVERS),
    file(ServerProgram::Gemini, Folder::Project, ".gemini/settings.json", SERVERS),
    file(ServerProgram::Opencode, Folder::Home, ".config/opencode/opencode.json", OPENCODE),
    file(ServerProgram::Opencode, Folder::Home, ".config/opencode/opencode.jsonc", OPENCODE),
    file(ServerProgram::Opencode, Folder::Project, "opencode.json", OPENCODE),
    file(ServerProgram::Opencode, Folder::Project, "opencode.jsonc", OPENCODE),
    file(ServerProgram::Opencode, Folder::Project, ".opencode/opencode.json", OPENCODE),
    file(ServerProgram::Opencode, Folder::Project, ".opencode/opencode.jsonc", OPENCODE),
    file(ServerProgram::Cursor, Folder::Home, ".cursor/mcp.json", SERVERS),
    file(ServerProgram::Cursor, Folder::Project, ".cursor/mcp.json", SERVERS),
    file(ServerProgram::Windsurf, Folder::Home, ".codeium/windsurf/mcp_config.json", SERVERS),
    file(ServerProgram::Windsurf, Folder::Project, ".windsurf/mcp_config.json", SERVERS),
    file(ServerProgram::VsCode, Folder::Project, ".vscode/mcp.json", Format::Json(&["servers"])),
    file(ServerProgram::VsCode, Folder::Project, ".vscode/mcp.json", Format::Json(&["mcp", "servers"])),
    file(ServerProgram::Any, Folder::Project, "mcp.json", SERVERS),
];

const fn file(
    program: ServerProgram,
    folder: Folder,
    path: &'static str,
    format: Format,
) -> DefinitionFile {
    DefinitionFile { program, folder, path, format }
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
