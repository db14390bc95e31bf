//! Bytes to values: what the files of the agents contain.

pub mod amplifier;
pub mod claude;
pub mod codex;
pub mod compare;
pub mod content;
pub mod copilot;
pub mod flat_yaml;
pub mod gemini;
pub mod jido;
pub mod jido_signature;
pub mod json;
pub mod jsonl;
pub mod parts;
pub mod pi;
pub mod qwen;
pub mod session_info;
