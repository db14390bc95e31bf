//! Bytes to values: what the files of the agents contain.

pub mod amplifier;
pub mod claude;
pub mod compare;
pub mod content;
pub mod copilot;
pub mod flat_yaml;
pub mod jido;
pub mod jido_signature;
pub mod json;
pub mod jsonl;
pub mod pi;
pub mod session_info;
