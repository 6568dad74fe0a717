import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.util.HexFormat;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

import static java.nio.charset.StandardCharsets.UTF_8;

/**
 * Tell whether a webhook is genuine. Java 17 or newer.
 *
 * WEBHOOK_HASH_KEY=whk_... java Verify.java SIGNATURE < body
 */
public class Verify {

    /** Compare the X-Service-Signature header with our own, in constant time. */
    static boolean isGenuine(String hashKey, String signature, byte[] body) throws GeneralSecurityException {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(hashKey.getBytes(UTF_8), "HmacSHA256"));
        String expected = HexFormat.of().formatHex(mac.doFinal(body));
        return MessageDigest.isEqual(expected.getBytes(UTF_8), signature.getBytes(UTF_8));
    }

    public static void main(String[] arguments) throws Exception {
        byte[] body = System.in.readAllBytes();
        boolean genuine = isGenuine(System.getenv("WEBHOOK_HASH_KEY"), arguments[0], body);
        System.out.println(genuine ? "valid" : "invalid");
        System.exit(genuine ? 0 : 1);
    }
}
