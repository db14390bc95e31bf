//! Parsers and writers for the files of the agents.

pub(crate) mod command_line;
pub(crate) mod compare;
pub(crate) mod content;
pub(crate) mod copies;
pub(crate) mod document;
pub(crate) mod edit;
pub(crate) mod file_uri;
pub(crate) mod json;
pub(crate) mod json_text;
pub(crate) mod json_writer;
pub(crate) mod jsonl;
pub(crate) mod parts;
pub(crate) mod path_json;
pub(crate) mod protobuf;
pub(crate) mod shell;
pub(crate) mod shown;
pub(crate) mod skim;
pub(crate) mod slim;
pub(crate) mod sqlite;
pub(crate) mod text;
pub(crate) mod times;
pub(crate) mod toml;
pub(crate) mod turn;
pub(crate) mod wrap;
