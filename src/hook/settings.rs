//! Claude Code's settings.json with the hooks of this program in it, and without them again.
//!
//! The text is edited, not written anew, so everything else in it stays byte for byte, and taking the hooks out gives
//! back what there was before they were put in. What is put into a list or an object that was there but empty follows
//! its bracket at once; what is made anew begins on a new line, or in a file of one line after a blank. So it can be
//! told which brackets go with the hooks. Facts: code.claude.com/docs 2026-08-22, and the real client 2.1.330.

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;

use crate::format::json_text::{self, Member, elements, members};

/// Each event to handle, and its matcher: a tool, or a source.
pub(crate) const EVENTS: [(&str, Option<&str>); 5] = [
    ("PostToolUse", Some("Bash")),
    ("CwdChanged", None),
    ("PreCompact", None),
    ("SessionStart", Some("compact")),
    ("SessionEnd", None),
];

/// What comes behind the program's name in the command of a hook.
const ARGS: &str = "hook claude";
/// How long the client waits for an answer, in seconds. At a session's end it waits 1.5 unless a hook asks for more.
const TIMEOUT: u32 = 5;

/// Why settings are left alone.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum Refused {
    /// There are no settings in it, and a client would call that an error.
    #[error("it is empty, which is not JSON")]
    Empty,
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// A part that must be an object or a list is something else.
    #[error("its {0} is not {1}")]
    WrongType(String, &'static str),
    /// A key occurs twice, so that readers may disagree on its value.
    #[error("it has the key {0} twice")]
    Twice(String),
}

/// What is left of the settings without the hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Without {
    /// The rest.
    Text(String),
    /// Nothing: the file was made for the hooks.
    Nothing,
}

/// Tells for each event whether this program is called for it.
pub(crate) fn installed(text: &str) -> Result<Vec<&'static str>, Refused> {
    let settings = Settings::read(text)?;
    let has = |event: &str| settings.handlers().any(|handler| handler.event == event);
    Ok(EVENTS.iter().map(|(event, _)| *event).filter(|event| has(event)).collect())
}

/// Returns whether the settings turn all hooks off.
pub(crate) fn are_disabled(text: &str) -> bool {
    let Ok(root) = root(text) else { return false };
    members(text, root.start)
        .iter()
        .any(|member| member.key == "disableAllHooks" && &text[member.value.clone()] == "true")
}

/// Returns the settings with this program called for every event; `None` means that there is no file.
pub(crate) fn install(text: Option<&str>, command: &str) -> Result<String, Refused> {
    let Some(text) = text else {
        let hooks = Block { line_end: "\n", unit: "  ", is_flat: false }.hooks(command, "  ", &EVENTS);
        return Ok(format!("{{\n  \"hooks\": {hooks}\n}}\n"));
    };
    let outdated = Settings::read(text)?.outdated(command);
    let mut text = replaced(text, &outdated, &quoted(command));
    // Each of these is for another event.
    while let Some(edit) = Settings::read(&text)?.next_insertion(command) {
        text.replace_range(edit.0, &edit.1);
    }
    Ok(text)
}

/// Returns the settings without this program.
pub(crate) fn uninstall(text: &str) -> Result<Without, Refused> {
    Ok(match Settings::read(text)?.removals() {
        Some(removals) => Without::Text(replaced(text, &removals, "")),
        None => Without::Nothing,
    })
}

/// Returns a text with another in each of these places, which are in order.
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

/// Settings whose parts that matter have the types that the client wants.
struct Settings<'a> {
    text: &'a str,
    root: Range<usize>,
    members: Vec<Member<'a>>,
    hooks: Option<Range<usize>>,
    events: Vec<Member<'a>>,
}

/// One call of this program in the settings.
struct Handler<'a> {
    event: &'a str,
    /// The command, unless the arguments stand apart.
    command: Option<Range<usize>>,
}

fn root(text: &str) -> Result<Range<usize>, Refused> {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    if text[mark..].trim().is_empty() {
        return Err(Refused::Empty);
    }
    let root = json_text::check(&text[mark..]).map_err(|error| Refused::NotJson(error.to_string()))?;
    Ok(root.start + mark..root.end + mark)
}

impl<'a> Settings<'a> {
    fn read(text: &'a str) -> Result<Self, Refused> {
        let root = root(text)?;
        let wrong = |what: &str, wanted| Refused::WrongType(what.to_owned(), wanted);
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

    /// Returns whether a call is one of this program, and where its command stands, if that is all in one.
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

    /// Returns the commands of this program that are another than the wanted one, in order.
    fn outdated(&self, command: &str) -> Vec<Range<usize>> {
        let wanted = quoted(command);
        self.handlers().filter_map(|handler| handler.command).filter(|at| self.text[at.clone()] != wanted).collect()
    }

    /// Returns the next thing to put in: where, and what.
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

    /// Returns what goes with the calls of this program, in order; `None` when it is the whole file.
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
                // A group that calls nothing is of no use, and neither is what was made to hold it.
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

    /// Returns whether a list or an object was there, empty, before its only part was put in.
    fn was_there(&self, outer: &Range<usize>, part: &Range<usize>) -> bool {
        outer.start + 1 == part.start
    }
}

/// Returns the member with a key, which must not occur twice.
fn the_one<'m, 'a>(members: &'m [Member<'a>], key: &str) -> Result<Option<&'m Member<'a>>, Refused> {
    let mut found = members.iter().filter(|member| member.key == key);
    let first = found.next();
    match found.next() {
        Some(_) => Err(Refused::Twice(key.to_owned())),
        None => Ok(first),
    }
}

fn spans(members: &[Member<'_>]) -> Vec<Range<usize>> {
    members.iter().map(|member| member.span.clone()).collect()
}

/// Returns the parts that go, each with the comma that goes with it; `None` when none is left.
fn parts(all: &[Range<usize>], goes: &[bool]) -> Option<Vec<Range<usize>>> {
    let first = goes.iter().position(|goes| !goes)?;
    let mut ranges = Vec::new();
    if first > 0 {
        ranges.push(all[0].start..all[first].start);
    }
    ranges.extend((first + 1..all.len()).filter(|at| goes[*at]).map(|at| all[at - 1].end..all[at].end));
    Some(ranges)
}

/// Returns where all parts are, with what is between.
fn whole(all: &[Range<usize>]) -> Option<Range<usize>> {
    Some(all.first()?.start..all.last()?.end)
}

/// Returns whether a word of a shell, quoted or not, is the name of this program.
fn is_this_program(word: &str) -> bool {
    let word = word.trim();
    let word = word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')).unwrap_or(word);
    Path::new(word).file_name().is_some_and(|name| name == "rejoin")
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A place for one more part of an object or a list.
struct Slot<'a> {
    at: usize,
    /// What parts it from the one before.
    separator: String,
    /// What its line begins with.
    indent: String,
    block: Block<'a>,
}

impl<'a> Slot<'a> {
    /// Finds the place behind the last part, set off as that one is.
    fn new(settings: &Settings<'a>, open: usize, parts: &[Range<usize>]) -> Self {
        let text = settings.text;
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let block = |is_flat| Block { line_end, unit: unit(text, settings), is_flat };
        let Some(last) = parts.last() else {
            let line = &text[..open].rsplit('\n').next().unwrap_or_default();
            let own = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            let is_flat = !text.trim().contains('\n') && !settings.members.is_empty();
            let block = block(is_flat);
            return Self { at: open + 1, separator: String::new(), indent: format!("{own}{}", block.unit), block };
        };
        let before = parts.len().checked_sub(2).map_or(open + 1, |before| parts[before].end);
        let blanks = text[before..last.start].rsplit(',').next().unwrap_or_default();
        let indent = blanks.rsplit_once('\n').map(|(_, indent)| indent.to_owned());
        Self {
            at: last.end,
            separator: format!(",{blanks}"),
            block: block(indent.is_none()),
            indent: indent.unwrap_or_default(),
        }
    }

    fn filled(&self, part: &str) -> (Range<usize>, String) {
        (self.at..self.at, format!("{}{part}", self.separator))
    }
}

/// Returns what one more level is indented by: as much as the first member.
fn unit<'a>(text: &'a str, settings: &Settings<'_>) -> &'a str {
    let blanks = settings.members.first().map_or("", |first| &text[settings.root.start + 1..first.span.start]);
    match blanks.rsplit_once('\n') {
        Some((_, indent)) if !indent.is_empty() => indent,
        _ => "  ",
    }
}

/// How what is made anew is set.
#[derive(Clone, Copy)]
struct Block<'a> {
    line_end: &'a str,
    unit: &'a str,
    /// Whether it is all on one line.
    is_flat: bool,
}

impl Block<'_> {
    /// Sets parts between brackets; `indent` is that of the line on which it begins.
    fn between(self, brackets: [&str; 2], indent: &str, parts: &[String]) -> String {
        let [open, close] = brackets;
        if self.is_flat {
            return format!("{open} {} {close}", parts.join(", "));
        }
        let inner = format!("{}{indent}{}", self.line_end, self.unit);
        let parts = parts.join(&format!(",{inner}"));
        format!("{open}{inner}{parts}{}{indent}{close}", self.line_end)
    }

    fn deeper(self, indent: &str) -> String {
        format!("{indent}{}", self.unit)
    }

    fn hooks(self, command: &str, indent: &str, events: &[(&str, Option<&str>)]) -> String {
        let inner = self.deeper(indent);
        let list =
            |(event, matcher): &(&str, Option<&str>)| format!("\"{event}\": {}", self.list(command, *matcher, &inner));
        self.between(["{", "}"], indent, &events.iter().map(list).collect::<Vec<_>>())
    }

    fn list(self, command: &str, matcher: Option<&str>, indent: &str) -> String {
        self.between(["[", "]"], indent, &[self.group(command, matcher, &self.deeper(indent))])
    }

    fn group(self, command: &str, matcher: Option<&str>, indent: &str) -> String {
        let inner = self.deeper(indent);
        let call = [
            "\"type\": \"command\"".to_owned(),
            format!("\"command\": {}", quoted(command)),
            format!("\"timeout\": {TIMEOUT}"),
        ];
        let call = self.between(["{", "}"], &self.deeper(&inner), &call);
        let calls = format!("\"hooks\": {}", self.between(["[", "]"], &inner, &[call]));
        let matcher = matcher.map(|matcher| format!("\"matcher\": \"{matcher}\""));
        self.between(["{", "}"], indent, &matcher.into_iter().chain([calls]).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Just, Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};
    use serde_json::{Value, json};

    use super::*;

    const COMMAND: &str = "rejoin hook claude";

    fn with_hooks(text: &str) -> String {
        install(Some(text), COMMAND).expect("settings")
    }

    /// Puts the hooks in and takes them out; checks what is between.
    fn there_and_back(text: &str) -> String {
        let with = with_hooks(text);
        assert_eq!(installed(&with).expect("settings").len(), EVENTS.len(), "{with}");
        assert_eq!(with_hooks(&with), with, "a second time changes nothing");
        let Without::Text(without) = uninstall(&with).expect("settings") else { panic!("{text} was taken for ours") };
        without
    }

    #[test]
    fn a_file_that_was_not_there_is_made_and_goes_again() {
        let text = install(None, COMMAND).expect("settings");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let call = json!([{"type": "command", "command": COMMAND, "timeout": 5}]);
        assert_eq!(
            value,
            json!({"hooks": {
                "PostToolUse": [{"matcher": "Bash", "hooks": call}],
                "CwdChanged": [{"hooks": call}],
                "PreCompact": [{"hooks": call}],
                "SessionStart": [{"matcher": "compact", "hooks": call}],
                "SessionEnd": [{"hooks": call}],
            }})
        );
        assert_eq!(
            text,
            serde_json::to_string_pretty(
                &serde_json::from_str::<indexmap::IndexMap<String, Ordered>>(&text).expect("JSON")
            )
            .expect("JSON")
                + "\n"
        );
        assert_eq!(uninstall(&text), Ok(Without::Nothing));
        assert_eq!(with_hooks(&text), text);
    }

    /// JSON that keeps the order of its keys.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(untagged)]
    enum Ordered {
        Object(indexmap::IndexMap<String, Ordered>),
        List(Vec<Ordered>),
        Other(Value),
    }

    #[test]
    fn install_and_uninstall_give_the_text_back_whatever_it_looks_like() {
        for text in [
            "{}",
            "{ }\n",
            "{\n}\n",
            "{}\r\n",
            "\u{feff}{\"model\": \"m\"}",
            "{\"model\":\"m\"}",
            "{ \"model\" : \"m\" }\n",
            "{\n  \"model\": \"m\"\n}",
            "{\n\t\"model\": \"m\",\n\t\"env\": {\n\t\t\"A\": \"1\"\n\t}\n}\n",
            "{\r\n    \"n\": 1.10,\r\n    \"hooks\": {}\r\n}\r\n",
            "{\"hooks\":{}}",
            "{\"hooks\":{ }}",
            "{\"hooks\":{\n}}",
            "{\"hooks\":{\"PostToolUse\":[]}}",
            "{\"hooks\":{\"SessionEnd\":[ ],\"PreCompact\":[\n]}}",
            "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}}",
            "{\n  \"hooks\": {\n    \"PostToolUse\": [\n      {\"matcher\": \"Edit\", \"hooks\": [ {\"type\":\"command\",\"command\":\"fmt\"} ]}\n      ,\n      {}\n    ],\n    \"SessionEnd\" : [ ]\n  } ,\n  \"model\": \"m\"   }\n\n",
        ] {
            assert_eq!(there_and_back(text), text);
        }
    }

    #[test]
    fn what_is_there_stays_where_it_is_and_the_hooks_come_behind() {
        let text = "{\n\t\"a\": 1.10,\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"SessionEnd\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t},\n\t\"z\": 2\n}\n";
        let with = with_hooks(text);
        assert!(with.starts_with("{\n\t\"a\": 1.10,\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"SessionEnd\": [\n\t\t\t{\"hooks\": []},\n\t\t\t{\n\t\t\t\t\"hooks\": [\n\t\t\t\t\t{\n\t\t\t\t\t\t\"type\": \"command\",\n"), "{with}");
        assert!(with.ends_with("\n\t\t]\n\t},\n\t\"z\": 2\n}\n"), "{with}");
        assert!(with.contains("\n\t\t],\n\t\t\"PostToolUse\": [\n\t\t\t{\n\t\t\t\t\"matcher\": \"Bash\",\n"), "{with}");
        assert!(!with.contains("  "), "{with}");
    }

    #[test]
    fn a_file_of_one_line_stays_one_and_windows_line_ends_stay_too() {
        let with = with_hooks("{\"model\":\"m\"}\n");
        assert_eq!(with.matches('\n').count(), 1, "{with}");
        let with = with_hooks("{\r\n  \"model\": \"m\"\r\n}\r\n");
        assert_eq!(with.matches('\n').count(), with.matches("\r\n").count());
    }

    #[test]
    fn what_another_program_made_of_the_file_in_the_meantime_is_kept() {
        let value: Value = serde_json::from_str(&with_hooks("{\"model\": \"m\"}")).expect("JSON");
        let mut value = value;
        value["hooks"]["PostToolUse"]
            .as_array_mut()
            .expect("a list")
            .insert(0, json!({"hooks": [{"type": "command", "command": "x"}]}));
        value["hooks"]["PreCompact"][0]["hooks"]
            .as_array_mut()
            .expect("a list")
            .push(json!({"type": "command", "command": "y"}));
        value["extra"] = json!(true);
        for text in [value.to_string(), serde_json::to_string_pretty(&value).expect("JSON")] {
            let Ok(Without::Text(without)) = uninstall(&text) else { panic!("nothing was left of {text}") };
            let without: Value = serde_json::from_str(&without).expect("JSON");
            assert_eq!(without["extra"], true);
            assert_eq!(without["model"], "m");
            assert_eq!(without["hooks"]["PostToolUse"], json!([{"hooks": [{"type": "command", "command": "x"}]}]));
            assert_eq!(without["hooks"]["PreCompact"], json!([{"hooks": [{"type": "command", "command": "y"}]}]));
        }
    }

    #[test]
    fn a_command_of_this_program_is_known_wherever_the_program_lies_and_is_brought_up_to_date() {
        let settings = |call: Value| json!({"hooks": {"PreCompact": [{"hooks": [call]}]}}).to_string();
        for command in ["rejoin hook claude", " /usr/bin/rejoin hook claude ", "'/o p/rejoin' hook claude"] {
            let text = settings(json!({"type": "command", "command": command}));
            assert_eq!(installed(&text), Ok(vec!["PreCompact"]), "{command}");
            let with = with_hooks(&text);
            assert_eq!(with.matches(COMMAND).count(), EVENTS.len(), "{with}");
            assert!(!with.contains("/rejoin"), "{with}");
        }
        let apart = settings(json!({"type": "command", "command": "/usr/bin/rejoin", "args": ["hook", "claude"]}));
        assert_eq!(installed(&apart), Ok(vec!["PreCompact"]));
        assert!(with_hooks(&apart).contains("/usr/bin/rejoin"));
        for command in [
            "rejoin hook amplifier",
            "my-rejoin hook claude",
            "rejoin list",
            "rejoinhook claude",
            "echo rejoin hook claude",
        ] {
            assert_eq!(installed(&settings(json!({"type": "command", "command": command}))), Ok(vec![]), "{command}");
        }
    }

    #[test]
    fn settings_that_are_not_understood_are_left_alone() {
        let refused = |text: &str| install(Some(text), COMMAND).expect_err("a refusal").to_string();
        assert_eq!(refused(" \n"), "it is empty, which is not JSON");
        assert!(refused("{\"a\": 1,}").starts_with("it is not JSON"));
        assert!(refused("{} // mine").starts_with("it is not JSON"));
        assert_eq!(refused("[]"), "its outermost value is not an object");
        assert_eq!(refused("{\"hooks\": null}"), "its hooks is not an object");
        assert_eq!(refused("{\"hooks\": {\"SessionEnd\": {}}}"), "its SessionEnd is not a list");
        assert_eq!(refused("{\"hooks\": {}, \"h\\u006foks\": {}}"), "it has the key hooks twice");
        assert_eq!(refused("{\"hooks\": {\"PreCompact\": [], \"PreCompact\": []}}"), "it has the key PreCompact twice");
        // Odd parts elsewhere are none of our business.
        assert_eq!(
            there_and_back(
                "{\"hooks\":{\"Stop\":7,\"PreCompact\":[null,{\"hooks\":7},{\"hooks\":[1,{\"command\":[]}]}]}}"
            ),
            "{\"hooks\":{\"Stop\":7,\"PreCompact\":[null,{\"hooks\":7},{\"hooks\":[1,{\"command\":[]}]}]}}"
        );
        assert!(
            are_disabled("{\"disableAllHooks\": true}")
                && !are_disabled("{\"disableAllHooks\": false}")
                && !are_disabled("{")
        );
    }

    /// A white space of any kind.
    fn blanks() -> impl Strategy<Value = String> {
        prop::string::string_regex("[ \t\r\n]{0,4}").expect("a pattern")
    }

    /// Parts between brackets, with any white space where some may stand.
    fn between(brackets: &'static str, part: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
        let part = (blanks(), part, blanks()).prop_map(|(before, part, behind)| format!("{before}{part}{behind}"));
        (prop::collection::vec(part, 0..4), blanks()).prop_map(move |(parts, blanks)| {
            let (open, close) = brackets.split_at(1);
            let inner = if parts.is_empty() { blanks } else { parts.join(",") };
            format!("{open}{inner}{close}")
        })
    }

    fn value() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just("null".to_owned()),
            Just("-1.50e3".to_owned()),
            any::<String>().prop_map(|text| Value::from(text).to_string())
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            let member = ("[a-z]{1,3}", blanks(), inner.clone())
                .prop_map(|(key, blanks, value)| format!("\"{key}\"{blanks}:{value}"));
            prop_oneof![between("[]", inner), between("{}", member)]
        })
    }

    #[test]
    fn thousands_of_calls_are_put_right_and_taken_out_in_one_go() {
        let call = |program: &str| format!("{{\"command\":\"{program} hook claude\"}}");
        let calls: Vec<String> = (0..20_000).map(|_| call("/old/rejoin")).collect();
        let groups: Vec<String> = (0..20_000).map(|_| format!("{{\"hooks\":[{}]}}", call("/old/rejoin"))).collect();
        let text = format!(
            "{{\"hooks\":{{\"PreCompact\":[{{\"hooks\":[{}]}}],\"SessionEnd\":[{},{{}}]}}}}",
            calls.join(","),
            groups.join(",")
        );
        let start = std::time::Instant::now();
        let with = with_hooks(&text);
        assert!(!with.contains("/old/") && with.matches(COMMAND).count() == 40_003, "one more for each other event");
        assert_eq!(
            uninstall(&text),
            Ok(Without::Text("{\"hooks\":{\"PreCompact\":[],\"SessionEnd\":[{}]}}".to_owned()))
        );
        assert!(start.elapsed() < std::time::Duration::from_secs(20), "{:?}", start.elapsed());
    }

    proptest! {
        #[test]
        fn any_settings_come_back_byte_for_byte(
            others in prop::collection::vec(("[a-z]{1,3}", value(), blanks(), blanks()), 0..3),
            events in prop::option::of(prop::collection::vec(between("[]", value()), 0..6)),
            (b1, b2, b3, b4, at) in (blanks(), blanks(), blanks(), blanks(), 0..3_usize),
        ) {
            let mut parts: Vec<String> =
                others.into_iter().map(|(key, value, before, behind)| format!("{before}\"{key}\":{value}{behind}")).collect();
            if let Some(lists) = events {
                let names = ["Stop", "SessionEnd", "PostToolUse", "CwdChanged", "PreCompact", "SessionStart"];
                let lists: Vec<_> = lists.iter().zip(names).map(|(list, name)| format!("{b1}\"{name}\":{b2}{list}{b3}")).collect();
                let inner = if lists.is_empty() { b4.clone() } else { lists.join(",") };
                let at = at.min(parts.len());
                parts.insert(at, format!("{b2}\"hooks\"{b3}:{b1}{{{inner}}}{b4}"));
            }
            let inner = if parts.is_empty() { b3.clone() } else { parts.join(",") };
            let text = format!("{b1}{{{inner}}}{b2}");
            let with = with_hooks(&text);
            let value: Value = serde_json::from_str(&with).expect("JSON");
            for (event, _) in EVENTS {
                let list = value["hooks"][event].as_array().expect("a list");
                prop_assert_eq!(&list.last().expect("a group")["hooks"][0]["command"], COMMAND);
            }
            prop_assert_eq!(uninstall(&with), Ok(Without::Text(text)));
        }
    }
}
