//! Text within HTML.

/// Returns text that HTML shows as it is, also within an attribute in double quotes.
pub(crate) fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            other => html.push(other),
        }
    }
    html
}

/// Returns JSON that cannot end the element around it. Outside of strings JSON has none of these characters.
pub(crate) fn embedded(json: &str) -> String {
    let mut html = String::with_capacity(json.len());
    for character in json.chars() {
        match character {
            '<' => html.push_str("\\u003c"),
            '\u{2028}' => html.push_str("\\u2028"),
            '\u{2029}' => html.push_str("\\u2029"),
            other => html.push(other),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(escaped("<b a=\"&\">"), "&lt;b a=&quot;&amp;&quot;&gt;");
        let json = embedded(r#"{"name": "</script><!--"}"#);
        assert!(!json.contains('<'), "{json}");
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(value["name"], "</script><!--");
    }
}
