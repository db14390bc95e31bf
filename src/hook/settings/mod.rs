//! Adds the hooks of rejoin to Claude Code's settings.json, and removes them.
//!
//! The text is edited in place, so everything else in it stays byte for byte, and removing the hooks restores the
//! original text. Entries added to an existing empty list or object are placed directly after the bracket; a newly
//! created one starts on a new line, or after a blank in a file of one line. Removal uses this to know which brackets
//! were created for the hooks. Facts: code.claude.com/docs 2026-08-22, and the real client 2.1.330.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use crate::format::json_text::{self, Member, elements, members};
use layout::{BlockLayout, Slot, quoted};

mod layout;
#[cfg(test)]
mod tests;

/// Each event to handle, and its matcher: a tool, or a source.
pub(crate) const EVENTS: [(&str, Option<&str>); 5] = [
    ("PostToolUse", Some("Bash")),
    ("CwdChanged", None),
    ("PreCompact", None),
    ("SessionStart", Some("compact")),
    ("SessionEnd", None),
];

/// Arguments after the program's name in the command of a hook.
const ARGS: &str = "hook claude";
/// The reason why settings are left alone.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum RefusedSettings {
    /// The file is empty, which a client would report as an error.
    #[error("it is empty, which is not JSON")]
    Empty,
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// A part that must be an object or a list has another type.
    #[error("its {0} is not {1}")]
    WrongType(String, &'static str),
    /// A key occurs twice, so readers may disagree on its value.
    #[error("it has the key {0} twice")]
    Twice(String),
}

/// The settings after the hooks are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    /// The remaining settings.
    Text(String),
    /// Nothing: the file was created for the hooks.
    Nothing,
}

/// Returns the events for which this program is called.
pub(crate) fn installed(text: &str) -> Result<Vec<&'static str>, RefusedSettings> {
    let settings = HookSettings::read(text)?;
    let has = |event: &str| settings.handlers().any(|handler| handler.event == event);
    Ok(EVENTS.iter().map(|(event, _)| *event).filter(|event| has(event)).collect())
}

/// Returns whether the settings disable all hooks.
pub(crate) fn are_disabled(text: &str) -> bool {
    let Ok(root) = root(text) else { return false };
    members(text, root.start)
        .iter()
        .any(|member| member.key == "disableAllHooks" && &text[member.value.clone()] == "true")
}

/// Returns the settings with this program called for every event; `text` is `None` if there is no file.
pub(crate) fn install(text: Option<&str>, command: &str) -> Result<String, RefusedSettings> {
    let Some(text) = text else {
        let hooks = BlockLayout { line_end: "\n", unit: "  ", is_flat: false }.hooks(command, "  ", &EVENTS);
        return Ok(format!("{{\n  \"hooks\": {hooks}\n}}\n"));
    };
    let outdated = HookSettings::read(text)?.outdated(command);
    let mut text = replaced(text, &outdated, &quoted(command));
    // Each edit is for another event.
    while let Some(edit) = HookSettings::read(&text)?.next_insertion(command) {
        text.replace_range(edit.0, &edit.1);
    }
    Ok(text)
}

/// Returns the settings without the calls of this program.
pub(crate) fn uninstall(text: &str) -> Result<Without, RefusedSettings> {
    Ok(match HookSettings::read(text)?.removals() {
        Some(removals) => Without::Text(replaced(text, &removals, "")),
        None => Without::Nothing,
    })
}

/// Returns a text with each of these ranges, which are in order, replaced by `with`.
fn replaced(text: &str, places: &[Range<usize>], with: &str) -> String {
    let mut new = String::with_capacity(text.len());
    let mut done = 0;
    for place in places {
        new.push_str(&text[done..place.start]);
        new.push_str(with);
        done = place.end;
    }
    new.push_str(&text[done..]);
    new
}

/// Settings whose relevant parts have the types that the client requires.
struct HookSettings<'a> {
    text: &'a str,
    root: Range<usize>,
    members: Vec<Member<'a>>,
    hooks: Option<Range<usize>>,
    events: Vec<Member<'a>>,
}

/// One call of this program in the settings.
struct Handler<'a> {
    event: &'a str,
    /// The command; `None` if the arguments are in a separate field.
    command: Option<Range<usize>>,
}

fn root(text: &str) -> Result<Range<usize>, RefusedSettings> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    if text[mark..].trim().is_empty() {
        return Err(RefusedSettings::Empty);
    }
    let root = json_text::check(&text[mark..]).map_err(|error| RefusedSettings::NotJson(error.to_string()))?;
    Ok(root.start + mark..root.end + mark)
}

impl<'a> HookSettings<'a> {
    fn read(text: &'a str) -> Result<Self, RefusedSettings> {
        let root = root(text)?;
        let wrong = |what: &str, requested| RefusedSettings::WrongType(what.to_owned(), requested);
        if !text[root.clone()].starts_with('{') {
            return Err(wrong("outermost value", "an object"));
        }
        let members = members(text, root.start);
        let hooks = the_one(&members, "hooks")?.map(|member| member.value.clone());
        let mut events = Vec::new();
        if let Some(hooks) = &hooks {
            if !text[hooks.clone()].starts_with('{') {
                return Err(wrong("hooks", "an object"));
            }
            events = json_text::members(text, hooks.start);
            for (event, _) in EVENTS {
                let list = the_one(&events, event)?;
                if list.is_some_and(|list| !text[list.value.clone()].starts_with('[')) {
                    return Err(wrong(event, "a list"));
                }
            }
        }
        Ok(Self { text, root, members, hooks, events })
    }

    /// Finds every call of this program.
    fn handlers(&self) -> impl Iterator<Item = Handler<'_>> {
        self.events.iter().flat_map(move |event| {
            let groups = elements(self.text, event.value.start).into_iter();
            let calls = groups.flat_map(|group| self.calls(&group));
            calls.filter_map(|call| Some(Handler { event: event.key.as_ref(), command: self.own_command(call.start)? }))
        })
    }

    /// Returns the calls of a group.
    fn calls(&self, group: &Range<usize>) -> Vec<Range<usize>> {
        let list = members(self.text, group.start).into_iter().find(|member| member.key == "hooks");
        list.map_or_else(Vec::new, |list| elements(self.text, list.value.start))
    }

    /// Checks whether a call is one of this program; `Some` has the range of its command, if that includes the
    /// arguments.
    fn own_command(&self, start: usize) -> Option<Option<Range<usize>>> {
        let fields = members(self.text, start);
        let value = |key: &str| fields.iter().find(|field| field.key == key).map(|field| field.value.clone());
        let at = value("command")?;
        let command = json_text::decoded(&self.text[at.clone()]);
        let args = value("args").map(|args| {
            let words = elements(self.text, args.start).into_iter();
            words.map(|word| json_text::decoded(&self.text[word]).into_owned()).collect::<Vec<_>>().join(" ")
        });
        match args {
            Some(args) => (is_this_program(&command) && args == ARGS).then_some(None),
            None => {
                let program = command.trim().strip_suffix(ARGS)?.strip_suffix(' ')?;
                is_this_program(program).then_some(Some(at))
            }
        }
    }

    /// Returns the commands of this program that differ from the requested one, in order.
    fn outdated(&self, command: &str) -> Vec<Range<usize>> {
        let requested = quoted(command);
        self.handlers().filter_map(|handler| handler.command).filter(|at| self.text[at.clone()] != requested).collect()
    }

    /// Returns the next insertion: its range and text.
    fn next_insertion(&self, command: &str) -> Option<(Range<usize>, String)> {
        let has: BTreeSet<&str> = self.handlers().map(|handler| handler.event).collect();
        let missing: Vec<_> = EVENTS.into_iter().filter(|(event, _)| !has.contains(event)).collect();
        let (event, matcher) = *missing.first()?;
        let Some(hooks) = &self.hooks else {
            let slot = Slot::new(self, self.root.start, &spans(&self.members));
            let hooks = slot.block.hooks(command, &slot.indent, &missing);
            return Some(slot.filled(&format!("\"hooks\": {hooks}")));
        };
        match self.events.iter().find(|member| member.key == event) {
            None => {
                let slot = Slot::new(self, hooks.start, &spans(&self.events));
                let list = slot.block.list(command, matcher, &slot.indent);
                Some(slot.filled(&format!("\"{event}\": {list}")))
            }
            Some(list) => {
                let slot = Slot::new(self, list.value.start, &elements(self.text, list.value.start));
                let group = slot.block.group(command, matcher, &slot.indent);
                Some(slot.filled(&group))
            }
        }
    }

    /// Returns the ranges to remove with the calls of this program, in order; `None` if that is the whole file.
    fn removals(&self) -> Option<Vec<Range<usize>>> {
        let mut removals = Vec::new();
        let mut own_events = Vec::new();
        for event in &self.events {
            let groups = elements(self.text, event.value.start);
            let mut within = Vec::new();
            let is_own = |group: &Range<usize>| {
                let calls = self.calls(group);
                let is_own: Vec<bool> = calls.iter().map(|call| self.own_command(call.start).is_some()).collect();
                let part = parts(&calls, &is_own);
                let is_empty = !calls.is_empty() && part.is_none();
                within.extend(part.into_iter().flatten());
                // A group without calls is useless, and so is a container that was created for it.
                is_empty
            };
            let own_groups: Vec<bool> = groups.iter().map(is_own).collect();
            let mut is_own_event = false;
            match parts(&groups, &own_groups) {
                Some(part) => within.extend(part),
                None if groups.is_empty() => {}
                None if self.was_there(&event.value, &groups[0]) => within.extend(whole(&groups)),
                None => is_own_event = true,
            }
            own_events.push(is_own_event);
            removals.append(&mut within);
        }
        let events = spans(&self.events);
        match (parts(&events, &own_events), &self.hooks) {
            (Some(part), _) => removals.extend(part),
            (None, Some(hooks)) if !events.is_empty() => {
                if self.was_there(hooks, &events[0]) {
                    removals.extend(whole(&events));
                } else {
                    let members = spans(&self.members);
                    let is_own: Vec<bool> = self.members.iter().map(|member| member.value == *hooks).collect();
                    match parts(&members, &is_own) {
                        Some(part) => removals.extend(part),
                        None if self.was_there(&self.root, &members[0]) => removals.extend(whole(&members)),
                        None => return None,
                    }
                }
            }
            (None, _) => {}
        }
        removals.sort_unstable_by_key(|range| range.start);
        Some(removals)
    }

    /// Returns whether a list or an object existed, empty, before `install` added its only part.
    fn was_there(&self, outer: &Range<usize>, part: &Range<usize>) -> bool {
        outer.start + 1 == part.start
    }
}

/// Returns the member with a key; fails if the key occurs twice.
fn the_one<'m, 'a>(members: &'m [Member<'a>], key: &str) -> Result<Option<&'m Member<'a>>, RefusedSettings> {
    let mut found = members.iter().filter(|member| member.key == key);
    let first = found.next();
    match found.next() {
        Some(_) => Err(RefusedSettings::Twice(key.to_owned())),
        None => Ok(first),
    }
}

fn spans(members: &[Member<'_>]) -> Vec<Range<usize>> {
    members.iter().map(|member| member.span.clone()).collect()
}

/// Returns the parts to remove, each with its comma; `None` if no part remains.
fn parts(all: &[Range<usize>], goes: &[bool]) -> Option<Vec<Range<usize>>> {
    let first = goes.iter().position(|goes| !goes)?;
    let mut ranges = Vec::new();
    if first > 0 {
        ranges.push(all[0].start..all[first].start);
    }
    ranges.extend((first + 1..all.len()).filter(|at| goes[*at]).map(|at| all[at - 1].end..all[at].end));
    Some(ranges)
}

/// Returns the range of all parts, with the text between them.
fn whole(all: &[Range<usize>]) -> Option<Range<usize>> {
    Some(all.first()?.start..all.last()?.end)
}

/// Returns whether a shell word, quoted or not, names this program.
fn is_this_program(word: &str) -> bool {
    let word = word.trim();
    let word = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')).unwrap_or(word);
    Path::new(word).file_name().is_some_and(|name| name == "rejoin")
}
