"""Files as people upload them."""

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (64).to_bytes(4) * 2 + b"0" * 100  # 64 by 64 pixels
PDF = b"%PDF-1.7\n" + b"0" * 100
JPEG = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x40\x00\x40\x03" + b"0" * 100  # the same size
