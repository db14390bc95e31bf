//! The answer of `config`.

use serde::Deserialize;
use serde_json::Value;

use super::{PathOf, Version};

words!(ConfigKind: Config);
words!(Source: File Environment Default);

answer!(Config { format_version: Version; kind: ConfigKind; settings: Vec<Setting>; file: PathOf; exists: bool; briefings: PathOf });

answer!(Setting { key: String; value: Value; source: Source; line: Option<usize> });
