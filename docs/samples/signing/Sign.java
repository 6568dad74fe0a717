import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Print the headers that sign a request. Java 17 or newer.
 *
 * SLUICE_API_KEY=pk_... SLUICE_SECRET_KEY=sk_... java Sign.java METHOD TARGET < body
 */
public class Sign {

    /** Return X-Signature. The target is path and query, exactly as they will be sent. */
    static String sign(
            String secretKey, String timestamp, String nonce, String method, String target, byte[] body)
            throws GeneralSecurityException {
        HexFormat hex = HexFormat.of();
        String bodyHash = hex.formatHex(MessageDigest.getInstance("SHA-256").digest(body));
        String text = String.join("\n", timestamp, nonce, method.toUpperCase(Locale.ROOT), target, bodyHash);
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secretKey.getBytes(UTF_8), "HmacSHA256"));
        return hex.formatHex(mac.doFinal(text.getBytes(UTF_8)));
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> environment = System.getenv();
        String timestamp =
                environment.getOrDefault("SLUICE_TIMESTAMP", Long.toString(Instant.now().getEpochSecond()));
        String nonce = environment.getOrDefault("SLUICE_NONCE", UUID.randomUUID().toString());
        String secretKey = environment.get("SLUICE_SECRET_KEY");
        byte[] body = System.in.readAllBytes();

        System.out.println("X-Api-Key: " + environment.get("SLUICE_API_KEY"));
        System.out.println("X-Timestamp: " + timestamp);
        System.out.println("X-Nonce: " + nonce);
        System.out.println(
                "X-Signature: " + sign(secretKey, timestamp, nonce, arguments[0], arguments[1], body));
    }
}
