upper(text)
