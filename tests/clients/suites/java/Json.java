import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads and writes JSON with maps, lists, strings, doubles, booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) { this.text = text; }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(String text) { return (Map<String, Object>) new Json(text).value(); }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> list(Object value) { return (List<Map<String, Object>>) value; }

    static Object read(String text) { return new Json(text).value(); }

    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            var members = new ArrayList<String>();
            map.forEach((name, each) -> members.add(write(name) + ":" + write(each)));
            return "{" + String.join(",", members) + "}";
        }
        if (value instanceof List<?> list) return "[" + String.join(",", list.stream().map(Json::write).toList()) + "]";
        if (value instanceof String string) return "\"" + string.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
        return String.valueOf(value);
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at))) at++;
        return text.charAt(at);
    }

    private Object value() {
        var first = next();
        if (first == '{') {
            var map = new LinkedHashMap<String, Object>();
            for (at++; next() != '}'; skipComma()) {
                var name = string();
                next();
                at++;
                map.put(name, value());
            }
            at++;
            return map;
        }
        if (first == '[') {
            var list = new ArrayList<Object>();
            for (at++; next() != ']'; skipComma()) list.add(value());
            at++;
            return list;
        }
        if (first == '"') return string();
        var end = at;
        while (end < text.length() && ",]} \n".indexOf(text.charAt(end)) < 0) end++;
        var word = text.substring(at, end);
        at = end;
        return switch (word) { case "true" -> true; case "false" -> false; case "null" -> null; default -> Double.valueOf(word); };
    }

    private void skipComma() { if (next() == ',') at++; }

    private String string() {
        next();
        var built = new StringBuilder();
        while (text.charAt(++at) != '"') {
            if (text.charAt(at) != '\\') { built.append(text.charAt(at)); continue; }
            var escaped = text.charAt(++at);
            if (escaped == 'u') { built.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16)); at += 4; }
            else built.append(escaped == 'n' ? '\n' : escaped == 't' ? '\t' : escaped == 'r' ? '\r' : escaped);
        }
        at++;
        return built.toString();
    }
}
