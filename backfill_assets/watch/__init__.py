"""After a cutover: is what an environment shows still right, whole and as new as it should be?"""
