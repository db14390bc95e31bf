//! The answers of `hook install`, `hook uninstall` and `hook status`.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;
use similar::TextDiff;

use crate::change::outcome::ItemResult;
use crate::cli::HookScope;
use crate::format::text;
use crate::hook::settings::EVENTS;
use crate::system::env::Env;
use crate::view::grid::{self, Column, Fit};
use crate::view::render::answer::Answer;
use crate::view::render::change::{ChangeSummary, ChangeText};
use crate::view::render::items::ItemList;
use crate::view::render::json::change::{ChangeJson, ItemJson, StepJson};
use crate::view::render::json::details::{CommandMembers, HookDetails};
use crate::view::ui::Styles;

/// A change of a settings.json.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SettingsChange<'a> {
    /// Set if the hooks were added, not removed.
    pub is_install: bool,
    /// Set if nothing was written.
    pub is_dry_run: bool,
    /// The scope of the settings.
    pub scope: HookScope,
    /// The file.
    pub path: &'a Path,
    /// Its old contents; `None` if there was no file.
    pub old: &'a Option<String>,
    /// Its contents; `None` if the file was removed.
    pub new: &'a Option<String>,
    /// The command for an event, if hooks are added.
    pub command: Option<&'a str>,
    /// The run that made the change, for `rejoin undo`.
    pub run: Option<&'a str>,
}

/// The answer of `hook status`.
#[derive(Serialize)]
pub(crate) struct HookStatusJson {
    /// The agent of the hooks: `claude`.
    pub agent: &'static str,
    /// True if one of the files has all hooks.
    pub installed: bool,
    /// Every file that was checked.
    pub scopes: Vec<HookScopeJson>,
}

/// One settings.json.
#[derive(Serialize)]
pub(crate) struct HookScopeJson {
    /// `user`, `project` or `local`.
    pub scope: &'static str,
    /// The settings.json.
    pub path: String,
    /// True if the file exists.
    pub exists: bool,
    /// True if the file calls rejoin for every event that it needs.
    pub installed: bool,
    /// The events for which the file calls rejoin.
    pub events: Vec<&'static str>,
    /// The events that are missing.
    pub missing: Vec<&'static str>,
    /// True if the file turns all hooks off.
    pub disabled: bool,
    /// The reason why the state is unknown; `null` if it is known.
    pub problem: Option<String>,
}

impl<'a> SettingsChange<'a> {
    /// Returns the answer; a dry run shows the changed lines.
    pub(crate) fn answer(self) -> ChangeText<'a> {
        let Self { is_install, is_dry_run, scope, path, old, new, command, run } = self;
        let action = match (old == new, new.is_some()) {
            (true, _) => None,
            (false, true) => Some("write"),
            (false, false) => Some("trash"),
        };
        let result = if action.is_some() { &ItemResult::Done } else { &ItemResult::Unchanged };
        let item = move |_| ItemJson {
            steps: action.map(|action| StepJson::new(action, path)).into_iter().collect(),
            ..ItemJson::new(None, "hooks", result, is_dry_run)
        };
        let diff = difference(old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
        let is_shown = is_dry_run && old != new;
        let head = is_shown.then(|| text::one_line(&path.to_string_lossy()).into_owned());
        let difference = head.into_iter().chain(diff.iter().filter(|_| is_shown).cloned()).collect();
        let (verb, sentence) = match (is_install, old == new) {
            (true, true) => ("hook install", "The hooks are already in"),
            (true, false) => ("hook install", "Added the hooks to"),
            (false, true) => ("hook uninstall", "There are no hooks of rejoin in"),
            (false, false) if new.is_none() => ("hook uninstall", "Nothing but the hooks was left, so removed"),
            (false, false) => ("hook uninstall", "Removed the hooks from"),
        };
        let path = path.to_string_lossy().into_owned();
        let summary = ChangeSummary { parts: vec![format!("{sentence} {path}")], ..ChangeSummary::default() };
        let document = ChangeJson {
            run,
            details: Some(CommandMembers::Hook(HookDetails { scope: scope.into(), path, command, diff })),
            ..ChangeJson::new(verb, is_dry_run, ItemList::counted(1, item), [result])
        };
        let text = ChangeText::new(document, is_dry_run);
        ChangeText { summary, difference, has_hidden_items: true, is_no_news: true, is_literal: is_dry_run, ..text }
    }
}

impl HookStatusJson {
    /// Creates the answer from the results for each file.
    pub(crate) fn new(scopes: Vec<HookScopeJson>) -> Self {
        Self { agent: "claude", installed: scopes.iter().any(|scope| scope.installed), scopes }
    }
}

impl HookScopeJson {
    /// Creates the result for a file that calls this program for these events.
    pub(crate) fn new(scope: HookScope, path: &Path, events: Vec<&'static str>) -> Self {
        let missing: Vec<_> = EVENTS.iter().map(|(event, _)| *event).filter(|event| !events.contains(event)).collect();
        Self {
            scope: scope.into(),
            path: path.to_string_lossy().into_owned(),
            exists: false,
            installed: missing.is_empty(),
            events,
            missing,
            disabled: false,
            problem: None,
        }
    }
}

impl Answer for HookStatusJson {
    fn object(&self) -> (&'static str, impl Serialize) {
        ("hook-status", self)
    }

    /// Writes one line per file with the state of the hooks in it.
    fn table(&self, out: &mut impl Write, env: &Env, styles: &Styles) -> io::Result<()> {
        let state = |scope: &HookScopeJson| match &scope.problem {
            Some(problem) => format!("unknown: {}", text::one_line(problem)),
            None if scope.events.is_empty() => "not set up".to_owned(),
            None if scope.installed => "set up".to_owned(),
            None => format!("partly set up; missing: {}", scope.missing.join(", ")),
        };
        let path = |scope: &HookScopeJson| format!("({})", text::one_line(&env.tilde(Path::new(&scope.path))));
        let disabled = |scope: &HookScopeJson| if scope.disabled { "disableAllHooks is set" } else { "" };
        let columns = vec![
            Column::new("", Fit::Whole, self.scopes.iter().map(|scope| scope.scope)),
            Column::new("", Fit::Whole, self.scopes.iter().map(state)),
            Column::new("", Fit::Whole, self.scopes.iter().map(path)).styled(styles.faint),
            Column::new("", Fit::Whole, self.scopes.iter().map(disabled)).styled(styles.warning),
        ];
        grid::write_bare(out, columns)
    }
}

/// Number of unchanged lines that are shown around a change.
const AROUND: usize = 2;

/// Returns the removed and added lines, with a few unchanged ones around them.
fn difference(old: &str, new: &str) -> Vec<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::from_slices(&old, &new);
    let shown = diff.grouped_ops(AROUND).into_iter().flatten();
    shown
        .flat_map(|op| diff.iter_changes(&op).map(|line| format!("{}{}", line.tag(), line.value())).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_has_changed_lines_and_context() {
        let old = "1\n2\n3\n4\n5\n6\n";
        assert_eq!(difference(old, "1\n2\n3\nnew\n4\n5\n6\n"), [" 2", " 3", "+new", " 4", " 5"]);
        assert_eq!(difference(old, "1\n2\n3!\n4\n5\n6\n"), [" 1", " 2", "-3", "+3!", " 4", " 5"]);
        assert_eq!(difference("", "a\nb\n"), ["+a", "+b"]);
        assert_eq!(difference("a\n", ""), ["-a"]);
        assert!(difference(old, old).is_empty());
        let long: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        let (few, many) = (format!("a\n{old}z\n"), format!("a\n{long}{old}z\n"));
        assert_eq!(difference(&few, &many).len(), 1 + 100_000 + 2, "many lines come");
        assert_eq!(difference(&many, &few).len(), 1 + 100_000 + 2, "many lines go");
    }
}
