//! The messages and the registry of Crush: JSON in the columns of its databases, and `projects.json`.
//!
//! Facts: charmbracelet/crush 37f36e93.

use crate::agent::prelude::*;
use crate::format::content::call;
use crate::format::turn::instant;

/// A working directory of Crush, and the directory of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Project {
    /// The directory.
    pub dir: PathBuf,
    /// The directory of its database.
    pub data_dir: PathBuf,
}

#[derive(Deserialize)]
struct ProjectRegistry<'a> {
    #[serde(borrow)]
    projects: Vec<&'a RawValue>,
}

/// Parses the registry, and counts the entries without an absolute directory.
///
/// # Errors
///
/// It is not JSON, or `projects` is not a list.
pub(crate) fn projects(bytes: &[u8]) -> Result<(Vec<Project>, usize), serde_json::Error> {
    let registry: ProjectRegistry<'_> = serde_json::from_slice(bytes)?;
    let project = |raw: &RawValue| {
        let [path, data_dir] = texts_in(Some(raw), ["path", "data_dir"]);
        let dir = PathBuf::from(path.filled()?);
        let data_dir = dir.join(data_dir.filled().unwrap_or(".crush"));
        dir.is_absolute().then_some(Project { dir, data_dir })
    };
    let count = registry.projects.len();
    let projects: Vec<Project> = registry.projects.into_iter().filter_map(project).collect();
    let unknown = count - projects.len();
    Ok((projects, unknown))
}

/// Returns the project directory of an unregistered database: the parent of its `.crush`.
pub(crate) fn dir_above(data_dir: &Path) -> Option<&Path> {
    data_dir.parent().filter(|_| data_dir.file_name().is_some_and(|name| name == ".crush"))
}

/// Creates a turn from a row; `created` is in seconds, contrary to the comments of the schema.
pub(crate) fn turn(role: &str, parts: &str, created: Option<i64>, is_summary: bool) -> Turn {
    let role = Role::from_name(Some(role));
    let mut turn = Turn::new(role, created.and_then(instant));
    turn.counts = !is_summary;
    let parts: Vec<&RawValue> = serde_json::from_str(parts).unwrap_or_default();
    for part in parts {
        let [kind, data] = members(Some(part), ["type", "data"]);
        match inner::<Text<'_>>(kind).get() {
            Some("text") => turn.add_text(text_in(data, "text").get().unwrap_or_default()),
            // A command of the user (`!`), and what it printed.
            Some("shell_command") => {
                let [command, output] = texts_in(data, ["command", "output"]);
                turn.add_text(format!("! {}", command.get().unwrap_or_default()));
                turn.tool(format!("→ {}", output.get().unwrap_or_default()));
            }
            Some("tool_call") => {
                let [name, input] = texts_in(data, ["name", "input"]);
                turn.tool(call(name.get(), input.get()));
            }
            Some("tool_result") => turn.tool(format!("→ {}", text_in(data, "content").get().unwrap_or_default())),
            _ => {}
        }
    }
    turn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shell_command_of_user_is_prompt_with_output() {
        let parts = r#"[{"type":"shell_command","data":{"command":"make","output":"made","exit_code":0}}]"#;
        let turn = turn("user", parts, None, false);
        assert_eq!(turn.prompt(), Some("! make"));
        let texts: Vec<_> = turn.messages.iter().map(|message| (message.role, message.text.as_str())).collect();
        assert_eq!(texts, [(Role::User, "! make"), (Role::Tool, "→ made")]);
    }
}
