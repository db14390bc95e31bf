//! Parses the content of a message: a string, a list of blocks, or nothing.
//!
//! Amplifier (amplifier-app-cli f16375fc), Claude Code (2.1.330), Codex (0.169.0) and Pi (0.87.1) share this format.

use std::borrow::Cow;

use jiff::Timestamp;
use memchr::memmem;
use serde::Deserialize;
use serde_json::value::RawValue;
use smallvec::SmallVec;

use super::json::{list, member, texts_in};
use super::skim::{self, Raw};
use crate::session::{Message, Role};

/// One part of a message's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Block<'a> {
    /// Plain text.
    Text(Cow<'a, str>),
    /// A call of a tool, with its arguments as JSON.
    ToolCall {
        /// The tool's name.
        name: String,
        /// Its arguments as they were written.
        arguments: String,
    },
    /// The result of a tool.
    ToolResult(String),
    /// Thinking, images and block types of future versions.
    Other,
}

impl Block<'_> {
    /// Returns whether the block has text or calls a tool.
    pub(crate) fn says_something(&self) -> bool {
        match self {
            Self::Text(text) => !text.trim().is_empty(),
            Self::ToolCall { .. } => true,
            Self::ToolResult(_) | Self::Other => false,
        }
    }

    /// Returns the result of a tool, if the block is one.
    pub(crate) fn into_result(self) -> Option<String> {
        if let Self::ToolResult(text) = self { Some(text) } else { None }
    }

    /// Formats the block as a message. Calls and results get the role `Tool`; text gets `role`.
    pub(crate) fn message(self, role: Role, at: Option<Timestamp>) -> Option<Message> {
        let (role, text) = match self {
            Self::Text(text) => (role, text.into_owned()),
            Self::ToolCall { name, arguments } => (Role::Tool, format!("{name} {arguments}")),
            Self::ToolResult(text) => (Role::Tool, format!("→ {text}")),
            Self::Other => return None,
        };
        Some(Message::new(role, text, at))
    }
}

/// The members of a block that are parsed.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
pub(crate) struct RawBlock<'a> {
    #[serde(rename = "type")]
    kind: Raw<'a>,
    text: Raw<'a>,
    name: Raw<'a>,
    input: Raw<'a>,
    arguments: Raw<'a>,
    content: Raw<'a>,
}

/// Names of the members in [`RawBlock`].
const OF_BLOCK: [&str; 6] = ["type", "text", "name", "input", "arguments", "content"];

impl<'a> RawBlock<'a> {
    fn from_raw(raw: Raw<'a>) -> Self {
        let skimmed = raw.bytes().and_then(|bytes| skim::single_members(bytes, OF_BLOCK));
        skimmed.map_or_else(
            || raw.read(),
            |[kind, text, name, input, arguments, content]| Self { kind, text, name, input, arguments, content },
        )
    }
}

/// Splits a content value into its blocks; an unreadable value has none.
pub(crate) fn blocks<'a>(content: impl Into<Raw<'a>>) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    each_unread(content.into(), |block| blocks.push(block.read()));
    blocks
}

/// Splits a content value into its blocks without parsing the texts of calls and results.
pub(crate) fn unread_blocks<'a>(content: impl Into<Raw<'a>>) -> SmallVec<[Unread<'a>; 1]> {
    let mut blocks = SmallVec::new();
    each_unread(content.into(), |block| blocks.push(block));
    blocks
}

fn each_unread<'a>(content: Raw<'a>, see: impl FnMut(Unread<'a>)) {
    match content.bytes() {
        Some([b'"', ..]) => content.lenient_text().into_inner().map(Unread::Text).into_iter().for_each(see),
        Some(list @ [b'[', ..]) => {
            // Blocks are shown only after the whole list was skimmed: a list with an error in it has no blocks.
            let mut blocks: SmallVec<[Raw<'a>; 8]> = SmallVec::new();
            match skim::elements(list, |raw| blocks.push(raw)) {
                Some(()) => blocks.into_iter().map(Unread::from_raw).for_each(see),
                None => content.read::<Vec<Raw<'_>>>().into_iter().map(Unread::from_raw).for_each(see),
            }
        }
        _ => {}
    }
}

/// A block whose texts are not parsed yet.
pub(crate) enum Unread<'a> {
    /// A plain string in place of a block.
    Text(Cow<'a, str>),
    /// An object.
    Block(Sort, RawBlock<'a>),
}

impl<'a> Unread<'a> {
    fn from_raw(raw: Raw<'a>) -> Self {
        if raw.is_text() {
            return raw.lenient_text().into_inner().map_or(Self::Block(Sort::Other, RawBlock::default()), Self::Text);
        }
        let block = RawBlock::from_raw(raw);
        Self::Block(block.kind.lenient_text().get().map_or(Sort::Other, Sort::from_name), block)
    }

    fn read(self) -> Block<'a> {
        match self {
            Self::Text(text) => Block::Text(text),
            Self::Block(Sort::Text, block) => block.text.lenient_text().into_inner().map_or(Block::Other, Block::Text),
            Self::Block(Sort::ToolCall, block) => Block::ToolCall {
                name: block.name.lenient_text().get().unwrap_or("tool").to_owned(),
                arguments: block.input.source().or_else(|| block.arguments.source()).unwrap_or_default().into_owned(),
            },
            Self::Block(Sort::ToolResult, block) => Block::ToolResult(plain_text(block.content)),
            Self::Block(Sort::Other, _) => Block::Other,
        }
    }

    /// Returns whether the block is the result of a tool.
    pub(crate) fn is_result(&self) -> bool {
        matches!(self, Self::Block(Sort::ToolResult, _))
    }

    /// Returns the text of the block, if it is a text.
    pub(crate) fn into_text(self) -> Option<Cow<'a, str>> {
        match self {
            Self::Text(text) => Some(text),
            Self::Block(Sort::Text, block) => block.text.lenient_text().into_inner(),
            Self::Block(..) => None,
        }
    }

    /// Like [`Block::says_something`].
    pub(crate) fn says_something(self) -> bool {
        matches!(self, Self::Block(Sort::ToolCall, _)) || self.into_text().is_some_and(|text| !text.trim().is_empty())
    }
}

/// The type of a block, from its `type` member.
pub(crate) enum Sort {
    Text,
    ToolCall,
    ToolResult,
    Other,
}

impl Sort {
    fn from_name(kind: &str) -> Self {
        match kind {
            "text" | "Text" | "input_text" | "output_text" => Self::Text,
            "tool_use" | "tool_call" | "toolCall" => Self::ToolCall,
            "tool_result" => Self::ToolResult,
            _ => Self::Other,
        }
    }
}

/// Counts the blocks of a message that [`Block::message`] formats, without the texts that `is_left_out` matches. `None`
/// if only a full parse can count them. The message must be valid for a parser.
pub(crate) fn count_blocks(message: Raw<'_>, is_left_out: Option<&dyn Fn(&str) -> bool>) -> Option<u64> {
    let [content, id] = skim::single_members(message.bytes()?, ["content", "id"])?;
    id.text_or_null()?;
    let count_text = |text: Raw<'_>| {
        // Only a `\u` escape can be invalid as a character, which makes the whole text invalid.
        let is_plain = |text: &[u8]| text.starts_with(b"\"") && memmem::find(text, b"\\u").is_none();
        if is_left_out.is_none() && text.bytes().is_some_and(is_plain) {
            return Some(1);
        }
        let text = text.text_or_null()?;
        Some(u64::from(text.get().is_some_and(|text| !is_left_out.is_some_and(|is| is(text)))))
    };
    let count_block = |block: Raw<'_>| match block.bytes()?.first()? {
        b'"' => count_text(block),
        b'{' => {
            let [kind, text, name, ..] = skim::single_members(block.bytes()?, OF_BLOCK)?;
            name.text_or_null()?;
            let count = count_text(text)?;
            match kind.text_or_null()?.get().map_or(Sort::Other, Sort::from_name) {
                Sort::Text => Some(count),
                Sort::ToolCall | Sort::ToolResult => Some(1),
                Sort::Other => Some(0),
            }
        }
        // serde reads a list as a struct with its fields in order.
        b'[' => None,
        _ => Some(0),
    };
    match content.bytes().and_then(<[u8]>::first) {
        Some(b'"') => count_text(content),
        Some(b'[') => {
            let mut count = Some(0);
            skim::elements(content.bytes()?, |block| {
                count = count.and_then(|count| Some(count + count_block(block)?))
            })?;
            count
        }
        _ => Some(0),
    }
}

/// Returns all text of a content value; the blocks are joined by newlines.
pub(crate) fn plain_text<'a>(content: impl Into<Raw<'a>>) -> String {
    let mut text = String::new();
    for block in blocks(content) {
        if let Block::Text(part) = block {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&part);
        }
    }
    text
}

/// Formats a tool call: its name and its arguments.
pub(crate) fn call(name: Option<&str>, arguments: Option<&str>) -> String {
    format!("{} {}", name.unwrap_or("tool"), arguments.unwrap_or_default()).trim_end().to_owned()
}

/// Formats the calls in a message's `tool_calls`. Each call has a `function`.
pub(crate) fn tool_calls(calls: Option<&RawValue>) -> Vec<String> {
    list(calls).into_iter().map(|raw| function_call(member(Some(raw), "function"))).collect()
}

/// Formats a function call: an object with a name and with arguments as a string.
pub(crate) fn function_call(raw: Option<&RawValue>) -> String {
    let [name, arguments] = texts_in(raw, ["name", "arguments"]);
    call(name.filled(), arguments.get())
}

/// Returns whether a text was inserted by a program, not typed: it has one of these beginnings, or is blank.
pub(crate) fn is_injected(text: &str, beginnings: &[&str]) -> bool {
    let text = text.trim_start();
    let Some(first) = text.bytes().next() else { return true };
    // Most texts begin with another letter.
    beginnings.iter().any(|start| start.bytes().next() == Some(first) && text.starts_with(start))
}

/// Returns whether a title is only the beginning of a prompt, as agents generate one until there is a better title.
///
/// Agents flatten white space and may append an ellipsis after the cut.
pub(crate) fn is_beginning_of(title: &str, prompt: &str) -> bool {
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let title = flat(title);
    let title = ["…", "...", "[...]"].iter().find_map(|end| title.strip_suffix(end)).unwrap_or(&title);
    flat(prompt).starts_with(title.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).expect("JSON")
    }

    #[test]
    fn content_may_be_string_list_null_or_missing() {
        assert_eq!(blocks(Some(&*raw(r#""a\nb""#))), [Block::Text("a\nb".into())]);
        assert_eq!(
            blocks(Some(&*raw(r#"[{"type":"text","text":"a"},"b"]"#))),
            [Block::Text("a".into()), Block::Text("b".into())]
        );
        assert_eq!(blocks(Some(&*raw("null"))), []);
        assert_eq!(blocks(Some(&*raw("{}"))), []);
        assert_eq!(blocks(None), []);
    }

    #[test]
    fn parser_distinguishes_tool_calls_results_and_unknown_blocks() {
        let list = raw(r#"[{"type":"tool_use","name":"Bash","input":{"command":"ls"}},
                {"type":"tool_result","content":[{"type":"text","text":"a.txt"}]},
                {"type":"toolCall","name":"bash","arguments":{"command":"ls"}},
                {"type":"thinking","thinking":"hm"},{"type":7},null]"#);
        assert_eq!(
            blocks(Some(&*list)),
            [
                Block::ToolCall { name: "Bash".to_owned(), arguments: r#"{"command":"ls"}"#.to_owned() },
                Block::ToolResult("a.txt".to_owned()),
                Block::ToolCall { name: "bash".to_owned(), arguments: r#"{"command":"ls"}"#.to_owned() },
                Block::Other,
                Block::Other,
                Block::Other,
            ]
        );
    }

    #[test]
    fn comparison_recognizes_title_derived_from_prompt() {
        let prompt = "Fix the parser\n\tand its tests, please";
        for title in ["Fix the parser and its tests, please", "Fix the parser", "Fix the parser and …", "Fix [...]", ""]
        {
            assert!(is_beginning_of(title, prompt), "{title}");
        }
        for title in ["Parser", "Fix the parser and its tests, please!", "fix the parser"] {
            assert!(!is_beginning_of(title, prompt), "{title}");
        }
    }
}
