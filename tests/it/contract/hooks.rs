//! The answer of `hook status`.

use serde::Deserialize;

use super::Version;

words!(HookStatusKind: HookStatus);

answer!(HookStatus {
    format_version: Version; kind: HookStatusKind; agent: String; installed: bool; scopes: Vec<HookScope>
});

answer!(HookScope {
    scope: String; path: String; exists: bool; installed: bool; events: Vec<String>; missing: Vec<String>; disabled: bool;
    problem: Option<String>
});
