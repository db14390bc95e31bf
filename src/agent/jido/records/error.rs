//! The reasons why JidoCode refuses to load a file, with JidoCode's own names.

use super::SCHEMA_VERSION;

/// The reason why JidoCode refuses to load a file, with JidoCode's own name for it in parentheses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum LoadError {
    /// The file is larger than [`MAX_FILE_BYTES`](super::MAX_FILE_BYTES).
    #[error("JidoCode refuses it: larger than 10 MiB (file_too_large)")]
    FileTooLarge,
    /// The file is not JSON.
    #[error("JidoCode refuses it: not JSON: {0} (invalid_json)")]
    InvalidJson(String),
    /// The signature does not match the contents.
    #[error("JidoCode refuses it: the signature does not match (signature_verification_failed)")]
    SignatureVerificationFailed,
    /// The JSON is not an object.
    #[error("JidoCode refuses it: not an object (not_a_map)")]
    NotAMap,
    /// Keys are missing.
    #[error("JidoCode refuses it: missing fields: {} (missing_fields)", .0.join(", "))]
    MissingFields(Vec<&'static str>),
    /// The version is not an integer of at least 1.
    #[error("JidoCode refuses it: the version is not a positive integer (invalid_version)")]
    InvalidVersion,
    /// The id is not a string.
    #[error("JidoCode refuses it: the id is not a string (invalid_id)")]
    InvalidId,
    /// The name is not a string.
    #[error("JidoCode refuses it: the name is not a string (invalid_name)")]
    InvalidName,
    /// The project path is not a string.
    #[error("JidoCode refuses it: the project path is not a string (invalid_project_path)")]
    InvalidProjectPath,
    /// The config is not an object.
    #[error("JidoCode refuses it: the config is not an object (invalid_config)")]
    InvalidConfig,
    /// The conversation is not a list.
    #[error("JidoCode refuses it: the conversation is not a list (invalid_conversation)")]
    InvalidConversation,
    /// The todos are not a list.
    #[error("JidoCode refuses it: the todos are not a list (invalid_todos)")]
    InvalidTodos,
    /// The version is newer than any that JidoCode supports.
    #[error("JidoCode refuses it: the version is newer than {SCHEMA_VERSION} (unsupported_version)")]
    UnsupportedVersion,
    /// A message of the conversation is invalid.
    #[error("JidoCode refuses it: message {}: {reason} (invalid_message)", .index + 1)]
    InvalidMessage {
        /// The index of the message, counted from 0.
        index: usize,
        /// The problem with the message.
        reason: Reason,
    },
    /// A task is invalid.
    #[error("JidoCode refuses it: todo {}: {reason} (invalid_todo)", .index + 1)]
    InvalidTodo {
        /// The index of the task, counted from 0.
        index: usize,
        /// The problem with the task.
        reason: Reason,
    },
    /// `created_at` or `updated_at` is not a time.
    #[error("JidoCode refuses it: {field} is not an ISO 8601 time with an offset ({reason})")]
    InvalidTimestamp {
        /// The key.
        field: &'static str,
        /// JidoCode's word for the problem; `null` has its own word.
        reason: &'static str,
    },
}

/// The problem with a message or a task, in JidoCode's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("not_a_map")]
    NotAMap,
    #[error("missing_fields: {}", .0.join(", "))]
    MissingFields(Vec<&'static str>),
    #[error("invalid_id")]
    InvalidId,
    #[error("invalid_role")]
    InvalidRole,
    #[error("unknown_role")]
    UnknownRole,
    #[error("invalid_content")]
    InvalidContent,
    #[error("invalid_timestamp")]
    InvalidTimestamp,
    #[error("invalid_status")]
    InvalidStatus,
    #[error("unknown_status")]
    UnknownStatus,
    #[error("invalid_active_form")]
    InvalidActiveForm,
}

impl LoadError {
    /// Returns a stable name for programs.
    pub fn code(&self) -> &'static str {
        self.into()
    }
}
