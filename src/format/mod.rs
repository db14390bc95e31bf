//! Bytes to values: what the files of the agents contain.

pub mod amplifier;
pub mod claude;
pub mod codex;
pub mod compare;
pub mod content;
pub mod copilot;
pub mod crush;
pub mod cwd_record;
pub mod elements;
pub mod flat_yaml;
pub mod gemini;
pub mod goose;
pub mod jido;
pub mod jido_signature;
pub mod json;
pub mod json_text;
pub mod jsonl;
pub mod kimi;
pub mod opencode;
pub mod parts;
pub mod pi;
pub mod qwen;
pub mod session_info;
pub mod sqlite;
pub mod turn;
pub mod vibe;
