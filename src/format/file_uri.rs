//! Parses the URIs of local files.

/// Returns the path in the URI of a local file; `None` for another URI, or a path that is not UTF-8.
pub(crate) fn path(uri: &str) -> Option<String> {
    let path = uri.strip_prefix("file://")?;
    let path = Some(path.strip_prefix("localhost").unwrap_or(path)).filter(|path| path.starts_with('/'))?;
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(2)?;
        let is_code = code.bytes().all(|byte| byte.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(code, 16).ok().filter(|_| is_code)?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_uri_needs_complete_local_path() {
        assert_eq!(path("file:///w/a%20b%C3%BC").as_deref(), Some("/w/a bü"));
        assert_eq!(path("file://localhost/w").as_deref(), Some("/w"));
        for other in [
            "/w",
            "vscode-remote://ssh/w",
            "file:///w/%zz",
            "file:///w/%2",
            "file:///w/%+f",
            "file:///%ff",
            "file://localhost.example/w",
            "file://C:/w",
            "file://server/w",
        ] {
            assert_eq!(path(other), None, "{other}");
        }
    }
}
