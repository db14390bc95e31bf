//! Reads `workspace.yaml`.

use crate::agent::copilot::flat_yaml;
use crate::agent::prelude::*;
use crate::format::json::instant;

/// Maximum size of the file, which contains about ten short keys; a name can be a long prompt.
pub(super) const MAX_WORKSPACE: u64 = 256 * 1024;

/// Members of `workspace.yaml`.
#[derive(Default)]
pub(super) struct WorkspaceYaml {
    pub(super) cwd: Option<Arc<Path>>,
    pub(super) branch: Option<String>,
    name: Option<String>,
    is_named_by_user: bool,
    pub(super) created_at: Option<Timestamp>,
    pub(super) updated_at: Option<Timestamp>,
}

/// Reads the directory in `workspace.yaml`; `None` if the file has no directory, or cannot be read.
pub(super) fn own_dir(place: &Located) -> Option<Arc<Path>> {
    let text = small(&place.path.join("workspace.yaml"), MAX_WORKSPACE).ok()??;
    WorkspaceYaml::parse(&text).cwd
}

impl WorkspaceYaml {
    pub(super) fn read(copy: &mut SessionCopy) -> Self {
        let path = copy.place.path.join("workspace.yaml");
        let bytes = read_or_note(copy, &path, MAX_WORKSPACE, "its workspace.yaml").unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&bytes))
    }

    fn parse(text: &str) -> Self {
        let mut values = flat_yaml::read(text);
        let at = |value: Option<&String>| value.and_then(|value| instant(value));
        Self {
            created_at: at(values.get("created_at")),
            updated_at: at(values.get("updated_at")),
            is_named_by_user: values.get("user_named").is_some_and(|value| value == "true"),
            // A relative path would depend on the caller's directory.
            cwd: values.remove("cwd").and_then(|cwd| recorded::dir(&cwd)),
            branch: values.remove("branch"),
            name: values.remove("name"),
        }
    }

    /// Returns the name, unless it is the first prompt, which the client uses if no name was given.
    pub(super) fn title(&mut self, prompt: Option<&str>) -> Option<String> {
        let name = self.name.take().filter(|name| !name.trim().is_empty())?;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (short, long) = (words(&name), prompt.map(words).unwrap_or_default());
        let cut = short.trim_end_matches(['…', '.']);
        let is_prompt = !self.is_named_by_user && !cut.is_empty() && long.starts_with(cut);
        (!is_prompt).then_some(name)
    }
}
