//! Chats that a user saved with `/chat save TAG`: `tmp/<project>/checkpoint-<TAG, percent-encoded>.json`.
//!
//! Such a file is `{history: [{role, parts}], authType}`, in older versions only the list. It has no id and no time, so
//! `TAG@PROJECT` names it here. Gemini CLI offers it in the project's directory, by its tag. Facts: Gemini CLI's
//! logger.ts (04fbf507).

use std::io::{BufRead as _, BufReader, Read};

use super::place;
use crate::agent::command::Command;
use crate::agent::prelude::*;
use crate::format::document::{DocumentField, Shape};

const SHAPE: Shape = Shape { list: "history", members: &[] };

/// Checks whether a session is a saved chat.
pub(super) fn is_in(place: &Located) -> bool {
    !place.is_subagent && place.path.file_name().and_then(|name| tag_in(name.to_str()?)).is_some()
}

/// Returns the encoded tag in the name of a saved chat.
fn tag_in(name: &str) -> Option<&str> {
    name.strip_prefix("checkpoint-")?.strip_suffix(".json").filter(|tag| !tag.is_empty())
}

/// Finds the saved chats of a project.
pub(super) fn locate(store: &Arc<Store>, project: &Arc<str>, dir: &Path, found: &mut Found) {
    for (entry, kind) in found.entries(dir) {
        let (path, name) = (entry.path(), entry.file_name());
        let Some(tag) = name.to_str().and_then(tag_in) else { continue };
        if kind.is_file() {
            found.places.push(place(store, project, format!("{tag}@{project}"), path, None, None));
        } else {
            found.problem(&path, "it is not a regular file");
        }
    }
}

/// Finds the saved chat with an id.
pub(super) fn locate_id(store: &Arc<Store>, id: &str) -> Found {
    let mut found = Found::default();
    let Some((tag, project)) = id.rsplit_once('@') else { return found };
    if [tag, project].iter().any(|name| name.is_empty() || name.contains('/') || *name == "..") {
        return found;
    }
    let path = store.root.join("tmp").join(project).join(format!("checkpoint-{tag}.json"));
    if reach::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file()) {
        found.places.push(place(store, &Arc::from(project), id.to_owned(), path, None, None));
    }
    found
}

/// Returns the tag that a user typed.
pub(super) fn tag(place: &Located) -> String {
    let name = place.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    decoded(tag_in(&name).unwrap_or_default())
}

/// Decodes `%XX`; a text that is not encoded stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|digits| byte == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(code.unwrap_or(byte));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Passes the messages of a saved chat to `see` until it breaks; returns `false` if it is cut off, or has another form.
pub(super) fn each(file: &mut dyn Read, see: &mut dyn FnMut(DocumentField<'_>) -> ControlFlow<()>) -> bool {
    let mut file = BufReader::new(file);
    let start = file.fill_buf().unwrap_or_default();
    match start.iter().find(|byte| !byte.is_ascii_whitespace()) {
        // The older form is converted to the newer one.
        Some(b'[') => SHAPE.each(&mut (&b"{\"history\":"[..]).chain(file).chain(&b"}"[..]), see),
        _ => SHAPE.each(&mut file, see),
    }
}

/// Returns the program to start, and the text to type: no option accepts a tag.
pub(super) fn command(place: &Located, prompt: Option<&str>) -> Result<Command, Unable> {
    refuse_prompt(prompt, "Gemini CLI opens a saved chat only by a command that is typed; resume it without --prompt")?;
    let tag = tag(place);
    if tag.chars().any(char::is_control) || tag.trim() != tag {
        return Err("the tag that it was saved under cannot be typed".into());
    }
    let then_type = Some(format!("/chat resume {tag}"));
    Ok(Command { argv: vec!["gemini".to_owned()], last: Vec::new(), unset: Vec::new(), then_type })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoint_tag_is_percent_decoded() {
        for (encoded, tag) in [("draft%20one", "draft one"), ("%E5%90%8D", "名"), ("100%", "100%"), ("%FF", "%FF")] {
            assert_eq!(decoded(encoded), tag);
        }
    }

    #[test]
    fn saved_chat_is_parsed_as_object_or_array() {
        for (text, is_read) in [(r#"{"history":[1,2],"authType":"x"}"#, true), ("\n [1, 2]", true), ("[1, 2", false)] {
            let mut count = 0;
            let whole = each(&mut text.as_bytes(), &mut |_| {
                count += 1;
                ControlFlow::Continue(())
            });
            assert_eq!((whole, count), (is_read, 2), "{text}");
        }
    }
}
